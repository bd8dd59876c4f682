// How much each cell of a grid over an image adds to the sum over each region, when the grid is enlarged to pixels.
// vision/regions/reference.py has the same in NumPy.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "regions.hpp"

namespace multiutility {

// The two cells that each pixel of a line takes its value from, and their weights, two numbers for each pixel.
struct LineCells {
  const std::int32_t* cells;
  const float* weights;
  std::int32_t n_cells;
};

// A sparse matrix, row by row.
struct SparseRows {
  std::vector<float> values;
  std::vector<std::int32_t> columns;
  std::vector<std::int32_t> starts;
};

// Pixels side by side in a region that have the same cells: their weights are added up before anything else.
struct Run {
  Label region;
  std::int32_t row, column;
  std::array<double, 2> weights;
};

inline std::vector<Run> runs_of(const Label* regions, MapSize size, const LineCells& across) {
  std::vector<bool> begins(at(size.width), true);
  for (std::int32_t x = 1; x < size.width; ++x)
    begins[at(x)] = !std::equal(across.cells + 2 * x, across.cells + 2 * x + 2, across.cells + 2 * x - 2);
  std::vector<Run> found;
  for (std::int32_t y = 0; y < size.height; ++y) {
    const Label* row = regions + static_cast<std::ptrdiff_t>(y) * size.width;
    for (std::int32_t x = 0; x < size.width;) {
      Run run{row[x], y, x, {0.0, 0.0}};
      do {
        run.weights[0] += across.weights[2 * x];
        run.weights[1] += across.weights[2 * x + 1];
        ++x;
      } while (x < size.width && row[x] == run.region && !begins[at(x)]);
      found.push_back(run);
    }
  }
  return found;
}

// The places of runs, region by region; runs of region v are starts[v] to starts[v + 1].
inline std::vector<std::int32_t> by_region(const std::vector<Run>& runs, std::vector<std::int32_t>& starts) {
  for (const Run& run : runs) ++starts[at(run.region) + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<std::int32_t> next(starts.begin(), starts.end() - 1), order(runs.size());
  for (std::size_t k = 0; k < runs.size(); ++k) order[at(next[at(runs[k].region)]++)] = static_cast<std::int32_t>(k);
  return order;
}

// Sums of weights for one region at a time, with room for all cells.
class CellSums {
 public:
  explicit CellSums(std::int32_t n_cells) : sums_(at(n_cells)), used_(at(n_cells)) {}

  void add(std::int32_t cell, double weight) {
    if (std::exchange(used_[at(cell)], 1) == 0) touched_.push_back(cell);
    sums_[at(cell)] += weight;
  }

  // Appends a row with all sums, and starts again at zero.
  void flush(SparseRows& rows) {
    std::sort(touched_.begin(), touched_.end());
    for (const std::int32_t cell : touched_) {
      rows.columns.push_back(cell);
      rows.values.push_back(static_cast<float>(sums_[at(cell)]));
      sums_[at(cell)] = 0.0;
      used_[at(cell)] = 0;
    }
    touched_.clear();
    rows.starts.push_back(static_cast<std::int32_t>(rows.columns.size()));
  }

 private:
  std::vector<double> sums_;
  std::vector<char> used_;
  std::vector<std::int32_t> touched_;
};

// A row for each region, a column for each cell.
inline SparseRows cell_weights(const Label* regions, MapSize size, Label n_regions, const LineCells& down,
                               const LineCells& across) {
  const std::vector<Run> runs = runs_of(regions, size, across);
  std::vector<std::int32_t> starts(at(n_regions) + 1);
  const std::vector<std::int32_t> order = by_region(runs, starts);
  CellSums sums(down.n_cells * across.n_cells);
  SparseRows rows{{}, {}, {0}};
  for (Label v = 0; v < n_regions; ++v) {
    for (std::int32_t k = starts[at(v)]; k < starts[at(v) + 1]; ++k) {
      const Run& run = runs[at(order[at(k)])];
      for (const int i : {0, 1})
        for (const int j : {0, 1})
          sums.add(down.cells[2 * run.row + i] * across.n_cells + across.cells[2 * run.column + j],
                   down.weights[2 * run.row + i] * run.weights[static_cast<std::size_t>(j)]);
    }
    sums.flush(rows);
  }
  return rows;
}

}  // namespace multiutility
