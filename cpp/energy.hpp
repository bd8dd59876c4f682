// Non-owning view of an Energy (and the allowed labels of its Constraints), as NumPy holds them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace multiutility {

struct EnergyView {
  int n_nodes = 0, n_labels = 0, n_edges = 0, n_subsets = 0;
  const double* unary = nullptr;                // [V, K]
  const std::int32_t* edges = nullptr;          // [E, 2]
  const double* weights = nullptr;              // [E]
  const std::int64_t* subset_starts = nullptr;  // [S + 1]
  const std::int32_t* subset_nodes = nullptr;
  const std::int32_t* subset_labels = nullptr;  // [S]
  const double* subset_costs = nullptr;         // [S]
  double offset = 0.0;
  const bool* allowed = nullptr;  // [V, K], or null: every label is allowed

  double unary_at(int node, int label) const {
    return unary[static_cast<std::size_t>(node) * static_cast<std::size_t>(n_labels) + static_cast<std::size_t>(label)];
  }
  bool is_allowed(int node, int label) const {
    return allowed == nullptr || allowed[static_cast<std::size_t>(node) * static_cast<std::size_t>(n_labels) +
                                         static_cast<std::size_t>(label)];
  }
};

inline double evaluate(const EnergyView& e, const std::int32_t* labels) {
  double total = e.offset;
  for (int i = 0; i < e.n_nodes; ++i) total += e.unary_at(i, labels[i]);
  for (int k = 0; k < e.n_edges; ++k)
    if (labels[e.edges[2 * k]] != labels[e.edges[2 * k + 1]]) total += e.weights[k];
  for (int s = 0; s < e.n_subsets; ++s)
    for (std::int64_t k = e.subset_starts[s]; k < e.subset_starts[s + 1]; ++k)
      if (labels[e.subset_nodes[k]] == e.subset_labels[s]) {
        total += e.subset_costs[s];
        break;
      }
  return total;
}

}  // namespace multiutility
