// Mixtures of planes of the dual's blocks: what learning/optimizers does with a mini-batch, but for products with dense
// matrices, which are BLAS's. The twins in NumPy are in learning/optimizers/reference.py, with the equations.
//
// A labeling y of V nodes stands for the matrix onehot(y) [V, K]. Slot 0 of a block is a matrix of any kind, the rest;
// the others are labelings, measured from an anchor: cost (onehot(anchor) - onehot(y)).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "products.hpp"

namespace multiutility {

// Slots [P] of a block: the rest [V, K], and labels [P, V] of which the first row says nothing.
struct SlotsView {
  std::size_t n_slots = 0, n_nodes = 0, n_labels = 0;
  const double* rest = nullptr;
  const std::int32_t* labels = nullptr;
  const std::int32_t* anchor = nullptr;  // [V]
  const bool* used = nullptr;            // [P]
  double cost = 0.0;
};

// Sum of the elements that a labeling [V] picks from a matrix [V, K], from the first node to before the last. Halves
// are summed apart, and short parts by eight sums at once: that is more exact than one sum, faster, and what NumPy
// does, so that the twin gives the same numbers to the last bit, and ties are broken the same way.
template <class T>
double label_sum(const T* matrix, std::size_t n_labels, const std::int32_t* labels, std::size_t first,
                 std::size_t last) {
  const auto at = [&](std::size_t i) {
    return static_cast<double>(matrix[i * n_labels + static_cast<std::size_t>(labels[i])]);
  };
  constexpr std::size_t width = 8, longest = 128;
  const std::size_t size = last - first;
  if (size > longest) {
    const std::size_t middle = first + size / 2 / width * width;
    return label_sum(matrix, n_labels, labels, first, middle) + label_sum(matrix, n_labels, labels, middle, last);
  }
  double total = 0.0;
  if (size >= width) {
    std::array<double, width> sums;
    for (std::size_t k = 0; k < width; ++k) sums[k] = at(first + k);
    for (first += width; first + width <= last; first += width)
      for (std::size_t k = 0; k < width; ++k) sums[k] += at(first + k);
    total = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  }
  for (; first < last; ++first) total += at(first);
  return total;
}

// Inner products of a matrix [V, K] with the matrices of the slots from 1 on; 0 for slots that are not used.
template <class T>
void slot_products(const SlotsView& slots, const T* matrix, double* products) {
  const auto sum = [&](const std::int32_t* labels) {
    return label_sum(matrix, slots.n_labels, labels, 0, slots.n_nodes);
  };
  const double anchor = sum(slots.anchor);
  for (std::size_t p = 1; p < slots.n_slots; ++p)
    products[p] = slots.used[p] ? slots.cost * (anchor - sum(slots.labels + p * slots.n_nodes)) : 0.0;
}

// The combination of the slots' matrices by coefficients [P], [V, K]; `total` is what is left at the anchor's labels,
// the cost times the sum of all coefficients but the first.
template <class T>
void combine_slots(const SlotsView& slots, const double* coefficients, double total, T* matrix) {
  std::vector<std::size_t> chosen;
  for (std::size_t p = 1; p < slots.n_slots; ++p)
    if (coefficients[p] != 0.0) chosen.push_back(p);
  std::vector<double> row(slots.n_labels);
  for (std::size_t i = 0; i < slots.n_nodes; ++i) {
    const double* rest = slots.rest + i * slots.n_labels;
    for (std::size_t k = 0; k < row.size(); ++k) row[k] = coefficients[0] * rest[k];
    for (const std::size_t p : chosen)
      row[static_cast<std::size_t>(slots.labels[p * slots.n_nodes + i])] -= slots.cost * coefficients[p];
    row[static_cast<std::size_t>(slots.anchor[i])] += total;
    for (std::size_t k = 0; k < row.size(); ++k) matrix[i * row.size() + k] = static_cast<T>(row[k]);
  }
}

// The used slot from 1 on that has this labeling, or 0.
inline std::size_t slot_of(const SlotsView& slots, const std::int32_t* labels) {
  for (std::size_t p = 1; p < slots.n_slots; ++p)
    if (slots.used[p] && std::equal(labels, labels + slots.n_nodes, slots.labels + p * slots.n_nodes)) return p;
  return 0;
}

// The product of a symmetric matrix [V, V] with onehot(first) - onehot(second), for labelings [V]: [V, K]. Most nodes
// have the same label in both, and the others two numbers that are not zero, 1 and -1. Sums are in blocks as those of
// products.
template <class T>
void swap_labels(const T* symmetric, std::size_t n_nodes, std::size_t n_labels, const std::int32_t* first,
                 const std::int32_t* second, T* found) {
  std::vector<T> sums(n_labels * n_nodes);
  std::fill(found, found + n_nodes * n_labels, T(0));
  for (std::size_t node = 0; node < n_nodes;) {
    const std::size_t last = node + block_size(n_nodes - node);
    std::fill(sums.begin(), sums.end(), T(0));
    for (; node < last; ++node) {
      if (first[node] == second[node]) continue;
      const T* row = symmetric + node * n_nodes;
      T* more = sums.data() + static_cast<std::size_t>(first[node]) * n_nodes;
      T* less = sums.data() + static_cast<std::size_t>(second[node]) * n_nodes;
      for (std::size_t i = 0; i < n_nodes; ++i) more[i] += row[i];
      for (std::size_t i = 0; i < n_nodes; ++i) less[i] -= row[i];
    }
    for (std::size_t i = 0; i < n_nodes; ++i)
      for (std::size_t k = 0; k < n_labels; ++k) found[i * n_labels + k] += sums[k * n_nodes + i];
  }
}

// Pairwise Frank-Wolfe on the simplex, for B problems of P coefficients each: `mixed` [B, P] and `gradients` [B, P] are
// changed in place, `gram` is [B, P, P].
inline void exchange(std::size_t n_problems, std::size_t n_slots, double* mixed, double* gradients, const double* gram,
                     const bool* used, int n_steps) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (std::size_t q = 0; q < n_problems * n_slots; ++q)
    if (!used[q]) gradients[q] = -infinity;
  struct Pair {
    std::size_t up, down;
    double slope;
  };
  std::vector<Pair> pairs(n_problems);
  for (int step = 0; step < n_steps; ++step) {
    double steepest = 0.0;
    for (std::size_t b = 0; b < n_problems; ++b) {
      const double *gradient = gradients + b * n_slots, *mix = mixed + b * n_slots;
      std::size_t up = 0, down = 0;
      double least = infinity;
      for (std::size_t p = 0; p < n_slots; ++p) {
        if (gradient[p] > gradient[up]) up = p;
        if (mix[p] > 0.0 && gradient[p] < least) {
          least = gradient[p];
          down = p;
        }
      }
      pairs[b] = {up, down, gradient[up] - gradient[down]};
      steepest = std::max(steepest, pairs[b].slope);
    }
    if (steepest <= 0.0) return;
    for (std::size_t b = 0; b < n_problems; ++b) {
      const auto [up, down, slope] = pairs[b];
      const double* products = gram + b * n_slots * n_slots;
      const auto change = [&, up = up, down = down](std::size_t p) {
        return products[p * n_slots + up] - products[p * n_slots + down];
      };
      const double curvature = change(up) - change(down);
      double* mix = mixed + b * n_slots;
      const double moved = std::min(curvature > 0.0 ? slope / curvature : infinity, mix[down]);
      mix[down] -= moved;
      mix[up] += moved;
      for (std::size_t p = 0; p < n_slots; ++p) gradients[b * n_slots + p] -= moved * change(p);
    }
  }
}

// Maximizes slopes . t - t gram t / 2 over t in [0, 1]^B, one coordinate after another.
inline std::vector<double> ascend_parabola(std::vector<double> slopes, const double* gram, int n_rounds) {
  const std::size_t n_steps = slopes.size();
  std::vector<double> steps(n_steps, 0.0);
  for (int round = 0; round < n_rounds; ++round)
    for (std::size_t b = 0; b < n_steps; ++b) {
      const double* row = gram + b * n_steps;
      const double rise = slopes[b] + steps[b] * row[b];
      const double best = row[b] > 0.0 ? std::clamp(rise / row[b], 0.0, 1.0) : rise > 0.0 ? 1.0 : 0.0;
      const double change = best - steps[b];
      steps[b] = best;
      for (std::size_t c = 0; c < n_steps; ++c) slopes[c] -= change * row[c];
    }
  return steps;
}

}  // namespace multiutility
