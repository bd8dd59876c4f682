// Tests of regions.hpp, cells.hpp and gradient.hpp against plain loops over pixels, on random maps with and without
// ties.
#include "regions.hpp"

#include "cells.hpp"
#include "gradient.hpp"
#include "testing.hpp"

#include <cmath>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace {

using namespace multiutility;

std::mt19937 rng(1);

int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(rng); }

std::vector<float> random_map(MapSize size, int n_levels) {
  std::vector<float> map(at(size.pixels()));
  for (float& value : map) value = static_cast<float>(below(n_levels));
  return map;
}

std::vector<Label> random_labels(MapSize size, int n) {
  std::vector<Label> labels(at(size.pixels()));
  for (Label& label : labels) label = below(n);
  return labels;
}

Label count(const std::vector<Label>& regions) { return *std::max_element(regions.begin(), regions.end()) + 1; }

std::vector<std::int32_t> neighbors(MapSize size, std::int32_t p) {
  std::vector<std::int32_t> found;
  if (p >= size.width) found.push_back(p - size.width);
  if (p % size.width > 0) found.push_back(p - 1);
  if (p % size.width + 1 < size.width) found.push_back(p + 1);
  if (p + size.width < size.pixels()) found.push_back(p + size.width);
  return found;
}

// Where pixels drain is where their lowest neighbors drain; minima, and flat bottoms as a whole, drain to themselves.
void test_drained(MapSize size, int n_levels) {
  const std::vector<float> map = random_map(size, n_levels);
  const std::vector<Label> found = drained(map.data(), size);
  if (found.empty()) return;
  for (std::int32_t p = 0; p < size.pixels(); ++p) {
    CHECK(found[at(found[at(p)])] == found[at(p)]);
    float low = map[at(p)];
    for (const std::int32_t q : neighbors(size, p)) low = std::min(low, map[at(q)]);
    for (const std::int32_t q : neighbors(size, p))
      if (map[at(q)] == low) CHECK(found[at(q)] == found[at(p)]);
  }
}

void test_connected(MapSize size, int min_size) {
  const std::vector<Label> labels = random_labels(size, 3), regions = connected(labels.data(), size, min_size);
  const auto [parts, n_parts] = parts_of(regions.data(), size);
  CHECK(n_parts == count(regions) && parts == regions);
  std::vector<int> sizes(at(n_parts));
  for (const Label region : regions) ++sizes[at(region)];
  for (const int n : sizes) CHECK(n >= std::min(min_size, size.pixels()));
  if (min_size == 1)
    for (std::int32_t p = 0; p < size.pixels(); ++p)
      for (const std::int32_t q : neighbors(size, p))
        CHECK((labels[at(p)] == labels[at(q)]) == (regions[at(p)] == regions[at(q)]));
}

void test_borders(MapSize size) {
  const std::vector<Label> labels = random_labels(size, 5);
  const Crossings found(labels.data(), size, 5);
  std::set<Pair> edges;
  std::size_t n = 0;
  for (std::int32_t p = 0; p < size.pixels(); ++p)
    for (const std::int32_t q : neighbors(size, p)) {
      const Label i = labels[at(p)], j = labels[at(q)];
      if (q > p && i != j) ++n;
      if (i < j) edges.insert({i, j});
    }
  CHECK(n == found.pixels.size());
  CHECK(std::vector<Pair>(edges.begin(), edges.end()) == found.pairs.edges);
  for (std::size_t k = 0; k < n; ++k) {
    const auto [i, j] = std::minmax(labels[at(found.pixels[k][0])], labels[at(found.pixels[k][1])]);
    CHECK((found.pairs.edges[at(found.pairs.owner[k])] == Pair{i, j}));
  }
}

// The plain algorithm: merge the weakest pair, and measure all borders anew.
std::vector<Label> merged_one_by_one(std::vector<Label> regions, const std::vector<float>& map, MapSize size, int n,
                                     double power) {
  for (int left = count(regions); left > n; --left) {
    std::map<Label, int> sizes;
    for (const Label region : regions) ++sizes[region];
    std::map<Pair, std::pair<double, int>> borders;
    for_neighbors(size, [&](std::int32_t p, std::int32_t q) {
      const auto [i, j] = std::minmax(regions[at(p)], regions[at(q)]);
      if (i == j) return;
      auto& [sum, length] = borders[Pair{i, j}];
      sum += (static_cast<double>(map[at(p)]) + map[at(q)]) / 2;
      ++length;
    });
    Pair best{};
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [pair, border] : borders) {
      const double smaller = std::min(sizes[pair[0]], sizes[pair[1]]);
      const double strength = border.first / border.second * std::pow(smaller, power);
      if (strength < least) best = pair, least = strength;
    }
    std::replace(regions.begin(), regions.end(), best[1], best[0]);
  }
  return parts_of(regions.data(), size).first;
}

void test_merging(MapSize size, double power) {
  std::vector<float> map(at(size.pixels()));
  for (float& value : map) value = std::uniform_real_distribution<float>(1.0F, 255.0F)(rng);
  const std::vector<Label> labels = random_labels(size, 4), parts = connected(labels.data(), size, 2);
  const int n = 1 + below(count(parts));
  const std::vector<Label> found = merge_regions(parts.data(), map.data(), size, n, power);
  CHECK(count(found) == n);
  CHECK(found == merged_one_by_one(parts, map, size, n, power));
  const std::vector<float> flat(map.size(), 7.0F);
  CHECK(count(merge_regions(parts.data(), flat.data(), size, n, power)) == n);
}

struct Line {
  std::vector<std::int32_t> cells;
  std::vector<float> weights;
};

Line random_line(std::int32_t n_pixels, std::int32_t n_cells) {
  Line line;
  for (std::int32_t x = 0; x < n_pixels; ++x) {
    const float weight = static_cast<float>(below(9)) / 8;
    for (const float one : {1 - weight, weight}) line.weights.push_back(one);
    const std::int32_t cell = x * n_cells / n_pixels;
    for (const std::int32_t one : {cell, std::min(cell + 1, n_cells - 1)}) line.cells.push_back(one);
  }
  return line;
}

void test_cells(MapSize size) {
  const std::int32_t n_rows = 1 + below(4), n_columns = 1 + below(4);
  const Line down = random_line(size.height, n_rows), across = random_line(size.width, n_columns);
  const std::vector<Label> labels = random_labels(size, 3);
  std::vector<double> expected(at(3 * n_rows * n_columns)), values(expected.size());
  for (std::int32_t p = 0; p < size.pixels(); ++p)
    for (const int i : {0, 1})
      for (const int j : {0, 1}) {
        const std::size_t y = at(2 * (p / size.width) + i), x = at(2 * (p % size.width) + j);
        expected[at((labels[at(p)] * n_rows + down.cells[y]) * n_columns + across.cells[x])] +=
            static_cast<double>(down.weights[y]) * across.weights[x];
      }
  const SparseRows found = cell_weights(labels.data(), size, 3, {down.cells.data(), down.weights.data(), n_rows},
                                        {across.cells.data(), across.weights.data(), n_columns});
  for (std::int32_t v = 0; v < 3; ++v)
    for (std::int32_t k = found.starts[at(v)]; k < found.starts[at(v) + 1]; ++k)
      values[at(v * n_rows * n_columns + found.columns[at(k)])] += found.values[at(k)];
  for (std::size_t k = 0; k < values.size(); ++k) CHECK(std::abs(values[k] - expected[k]) < 1e-4);
}

// No direction has more change, and some nearly as much.
void test_largest_change(std::size_t depth) {
  std::vector<float> across(depth), down(depth);
  for (std::size_t d = 0; d < depth; ++d) {
    across[d] = static_cast<float>(below(19) - 9);
    down[d] = static_cast<float>(below(19) - 9);
  }
  double most = 0.0;
  for (int step = 0; step < 1000; ++step) {
    const double angle = step * 3.14159265358979 / 1000;
    double square = 0.0;
    for (std::size_t d = 0; d < depth; ++d)
      square += std::pow(std::cos(angle) * across[d] + std::sin(angle) * down[d], 2);
    most = std::max(most, std::sqrt(square));
  }
  CHECK(std::abs(largest_change(across.data(), down.data(), 1, depth, 0.5F)[0] - most / 2) <= 1e-4 * most);
}

}  // namespace

int main() {
  for (int n = 0; n < 300; ++n) {
    const MapSize size{1 + below(9), 1 + below(9)};
    for (const int n_levels : {2, 8, 1000, 1000000}) test_drained(size, n_levels);
    test_connected(size, 1 + below(6));
    test_borders(size);
    test_merging(size, below(3) / 2.0);
    test_cells(size);
    test_largest_change(static_cast<std::size_t>(1 + below(7)));
  }
  return multiutility::testing::report();
}
