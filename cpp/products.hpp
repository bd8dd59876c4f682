// Products with the features of nodes [V, D] in single precision: scores [V, K], by weights of labels [K, D], and sums
// of features [K, D], by what nodes count for labels [V, K].
//
// BLAS copies both factors into blocks before it multiplies. That pays if numbers are used again and again; here each
// feature is used once for every label, and there are few of these. Read as they are, features take 0.6 to 0.7 of the
// time. The twins are NumPy's own products.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

// What follows is written for the registers of one kind of processor; all others have BLAS.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)
#define MULTIUTILITY_HAS_PRODUCTS 1
#include <immintrin.h>
#endif

namespace multiutility {

// Numbers that a register holds. Weights come as [D, K], with zeros after the last label to a multiple of it.
constexpr std::size_t kLane = 8;

inline std::size_t padded(std::size_t n_labels) { return (n_labels + kLane - 1) / kLane * kLane; }

// Sums are taken block by block, which is more exact than one long sum. This is how BLAS cuts them on the machines that
// have been tried, so that products are the same there, bit for bit.
inline std::size_t block_size(std::size_t n_left) {
  constexpr std::size_t longest = 448, step = 16;
  if (n_left >= 2 * longest) return longest;
  return n_left > longest ? (n_left / 2 + step - 1) / step * step : n_left;
}

#ifdef MULTIUTILITY_HAS_PRODUCTS

#define MULTIUTILITY_VECTORS __attribute__((target("avx2,fma")))

inline bool can_multiply() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

struct ScoresView {
  std::size_t n_nodes, n_features, n_labels;
  const float* features;  // [V, D]
  const float* weights;   // [D, padded K]
  float* scores;          // [V, K]
};

// Scores of `rows` nodes and `lanes` registers of labels, over some features. Sums stay in registers as long as all
// loops over them are unrolled.
template <std::size_t rows, std::size_t lanes>
MULTIUTILITY_VECTORS void add_scores(const ScoresView& view, std::size_t node, std::size_t label, std::size_t first,
                                     std::size_t last) {
  const std::size_t stride = padded(view.n_labels), depth = view.n_features;
  const float* features = view.features + node * depth;
  __m256 sums[rows][lanes];
#pragma GCC unroll 8
  for (std::size_t r = 0; r < rows; ++r)
#pragma GCC unroll 8
    for (std::size_t k = 0; k < lanes; ++k) sums[r][k] = _mm256_setzero_ps();
  for (std::size_t d = first; d < last; ++d) {
    __m256 weights[lanes];
#pragma GCC unroll 8
    for (std::size_t k = 0; k < lanes; ++k) weights[k] = _mm256_loadu_ps(view.weights + d * stride + label + k * kLane);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < rows; ++r) {
      const __m256 feature = _mm256_broadcast_ss(features + r * depth + d);
#pragma GCC unroll 8
      for (std::size_t k = 0; k < lanes; ++k) sums[r][k] = _mm256_fmadd_ps(feature, weights[k], sums[r][k]);
    }
  }
  const std::size_t n = std::min(view.n_labels - label, lanes * kLane);
#pragma GCC unroll 8
  for (std::size_t r = 0; r < rows; ++r) {
    float found[lanes * kLane];
#pragma GCC unroll 8
    for (std::size_t k = 0; k < lanes; ++k) _mm256_storeu_ps(found + k * kLane, sums[r][k]);
    float* scores = view.scores + (node + r) * view.n_labels + label;
    for (std::size_t k = 0; k < n; ++k) scores[k] = first == 0 ? found[k] : scores[k] + found[k];
  }
}

template <std::size_t rows, std::size_t lanes>
void score_labels(const ScoresView& view, std::size_t node, std::size_t label) {
  for (std::size_t first = 0; first < view.n_features;) {
    const std::size_t last = first + block_size(view.n_features - first);
    add_scores<rows, lanes>(view, node, label, first, last);
    first = last;
  }
}

template <std::size_t rows>
void score_nodes(const ScoresView& view, std::size_t node) {
  for (std::size_t label = 0; label < view.n_labels;) {
    const std::size_t left = padded(view.n_labels - label) / kLane;
    if (left >= 3)
      score_labels<rows, 3>(view, node, label);
    else if (left == 2)
      score_labels<rows, 2>(view, node, label);
    else
      score_labels<rows, 1>(view, node, label);
    label += std::min(left, std::size_t{3}) * kLane;
  }
}

// Features of at least one node and label; a node without features has no score.
inline void node_scores(const ScoresView& view) {
  constexpr std::size_t rows = 4;  // by three registers of labels: what sums and factors take is what there is
  std::size_t node = 0;
  for (; node + rows <= view.n_nodes; node += rows) score_nodes<rows>(view, node);
  for (; node < view.n_nodes; ++node) score_nodes<1>(view, node);
}

struct LiftView {
  std::size_t n_nodes, n_features, n_labels;
  const float* counts;    // [V, K]
  const float* features;  // [V, D]
  float* sums;            // [K, D]
};

// Nodes that are read together: all of their features stay near until each label has been served.
constexpr std::size_t kNodes = 16;

// Adds some nodes to the sums of a few labels and `lanes` registers of features; the first nodes begin the sums.
template <std::size_t labels, std::size_t lanes>
MULTIUTILITY_VECTORS void add_lift(const LiftView& view, std::size_t node, std::size_t n_nodes, std::size_t label,
                                   std::size_t feature, bool first) {
  const std::size_t width = view.n_labels, depth = view.n_features;
  const float *counts = view.counts + node * width + label, *features = view.features + node * depth + feature;
  float* found = view.sums + label * depth + feature;
  __m256 sums[labels][lanes];
#pragma GCC unroll 8
  for (std::size_t k = 0; k < labels; ++k)
#pragma GCC unroll 8
    for (std::size_t d = 0; d < lanes; ++d)
      sums[k][d] = first ? _mm256_setzero_ps() : _mm256_loadu_ps(found + k * depth + d * kLane);
  for (std::size_t i = 0; i < n_nodes; ++i) {
    __m256 factors[lanes];
#pragma GCC unroll 8
    for (std::size_t d = 0; d < lanes; ++d) factors[d] = _mm256_loadu_ps(features + i * depth + d * kLane);
#pragma GCC unroll 8
    for (std::size_t k = 0; k < labels; ++k) {
      const __m256 count = _mm256_broadcast_ss(counts + i * width + k);
#pragma GCC unroll 8
      for (std::size_t d = 0; d < lanes; ++d) sums[k][d] = _mm256_fmadd_ps(count, factors[d], sums[k][d]);
    }
  }
#pragma GCC unroll 8
  for (std::size_t k = 0; k < labels; ++k)
#pragma GCC unroll 8
    for (std::size_t d = 0; d < lanes; ++d) _mm256_storeu_ps(found + k * depth + d * kLane, sums[k][d]);
}

// What is left of the features after the last full register.
MULTIUTILITY_VECTORS inline void add_last(const LiftView& view, std::size_t node, std::size_t n_nodes,
                                          std::size_t feature, bool first) {
  for (std::size_t k = 0; k < view.n_labels; ++k)
    for (std::size_t d = feature; d < view.n_features; ++d) {
      float& found = view.sums[k * view.n_features + d];
      float sum = first ? 0.0f : found;
      for (std::size_t i = node; i < node + n_nodes; ++i)
        sum = __builtin_fmaf(view.counts[i * view.n_labels + k], view.features[i * view.n_features + d], sum);
      found = sum;
    }
}

inline void add_nodes(const LiftView& view, std::size_t node, std::size_t n_nodes, std::size_t n_next, bool first) {
  constexpr std::size_t labels = 6, lanes = 2, width = lanes * kLane;  // what sums and factors take is what there is
  const std::size_t depth = view.n_features;
  std::size_t d = 0;
  for (; d + width <= depth; d += width) {
    // Processors foresee one row of features, but not as many as are read here.
    for (std::size_t i = 0; i < n_next; ++i) __builtin_prefetch(view.features + (node + n_nodes + i) * depth + d, 0, 2);
    std::size_t k = 0;
    for (; k + labels <= view.n_labels; k += labels) add_lift<labels, lanes>(view, node, n_nodes, k, d, first);
    for (; k + labels / 2 <= view.n_labels; k += labels / 2)
      add_lift<labels / 2, lanes>(view, node, n_nodes, k, d, first);
    for (; k < view.n_labels; ++k) add_lift<1, lanes>(view, node, n_nodes, k, d, first);
  }
  add_last(view, node, n_nodes, d, first);
}

// Sums over the nodes from `first` to before `last`.
inline void lift_block(const LiftView& view, std::size_t first, std::size_t last) {
  for (std::size_t node = first; node < last; node += kNodes) {
    const std::size_t n_nodes = std::min(kNodes, last - node);
    add_nodes(view, node, n_nodes, std::min(kNodes, last - node - n_nodes), node == first);
  }
}

// Of at least one node.
inline void lift(const LiftView& view) {
  std::size_t last = block_size(view.n_nodes);
  lift_block(view, 0, last);
  std::vector<float> others;
  while (last < view.n_nodes) {
    const std::size_t first = last;
    last += block_size(view.n_nodes - first);
    others.resize(view.n_labels * view.n_features);
    LiftView block = view;
    block.sums = others.data();
    lift_block(block, first, last);
    for (std::size_t i = 0; i < others.size(); ++i) view.sums[i] += others[i];
  }
}

#endif

}  // namespace multiutility
