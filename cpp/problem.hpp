// An energy compiled for the solvers: nodes renumbered for locality, unused labels dropped, forbidden labels priced
// out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "energy.hpp"

namespace multiutility {

inline std::size_t idx(int i) { return static_cast<std::size_t>(i); }

class Problem {
 public:
  struct Arc {
    int head, edge;
  };
  // Membership of a node in a subset: `slot` is its position in `member`, hence also in any array kept for memberships.
  struct Entry {
    int label, subset, slot;
  };

  int n_nodes = 0, n_labels = 0, n_edges = 0, n_subsets = 0;
  std::vector<int> order;        // compiled node -> given node
  std::vector<int> label_of;     // compiled label -> given label
  std::vector<int> label_index;  // given label -> compiled label, or -1
  std::vector<double> unary;     // [V, K]
  std::vector<int> tail, head;   // of each edge, tail < head
  std::vector<double> weight;
  std::vector<int> arc_start;  // [V + 1]; the arcs of a node are sorted by their other end
  std::vector<Arc> arcs;
  std::vector<int> subset_start, member, owner;  // owner: subset of a slot
  std::vector<int> subset_label;
  std::vector<double> subset_cost;
  std::vector<int> entry_start;  // [V + 1]; the entries of a node are sorted by label
  std::vector<Entry> entries;
  std::vector<int> entry_at;  // [V, K + 1]: where the entries of a node and a label begin; empty without subsets
  double scale = 0.0;         // the largest magnitude, for tolerances

  void compile(const EnergyView& e) {
    choose_labels(e);
    number_nodes(e);
    build_edges(e);
    build_subsets(e);
    build_unary(e);
  }

  double cost(int node, int label) const { return unary[idx(node) * idx(n_labels) + idx(label)]; }

  // The entries of `node` in subsets of `label`, as [begin, end) into `entries`.
  std::pair<int, int> entries_of(int node, int label) const {
    if (n_subsets == 0) return {0, 0};
    const int* at = &entry_at[idx(node) * idx(n_labels + 1) + idx(label)];
    return {at[0], at[1]};
  }

  double evaluate(const std::vector<int>& labels) const {
    double total = 0.0;
    for (int i = 0; i < n_nodes; ++i) total += cost(i, labels[idx(i)]);
    for (int k = 0; k < n_edges; ++k)
      if (labels[idx(tail[idx(k)])] != labels[idx(head[idx(k)])]) total += weight[idx(k)];
    for (int s = 0; s < n_subsets; ++s)
      for (int slot = subset_start[idx(s)]; slot < subset_start[idx(s) + 1]; ++slot)
        if (labels[idx(member[idx(slot)])] == subset_label[idx(s)]) {
          total += subset_cost[idx(s)];
          break;
        }
    return total;
  }

 private:
  // Labels that no node may take cost time in every loop over labels, so they are left out.
  void choose_labels(const EnergyView& e) {
    n_nodes = e.n_nodes;
    label_of.clear();
    label_index.assign(idx(e.n_labels), -1);
    std::vector<char> seen(idx(e.n_labels), e.allowed == nullptr || n_nodes == 0 ? 1 : 0);
    if (e.allowed != nullptr)
      for (int i = 0; i < n_nodes; ++i)
        for (int k = 0; k < e.n_labels; ++k) seen[idx(k)] |= static_cast<char>(e.is_allowed(i, k));
    for (int k = 0; k < e.n_labels; ++k)
      if (seen[idx(k)]) {
        label_index[idx(k)] = static_cast<int>(label_of.size());
        label_of.push_back(k);
      }
    n_labels = static_cast<int>(label_of.size());
  }

  // Breadth-first from a far end of each component: neighbors come close in memory, and the sequential message passing
  // sweeps along long monotone chains.
  void number_nodes(const EnergyView& e) {
    std::vector<int> start(idx(n_nodes) + 1, 0), neighbor(2 * idx(e.n_edges));
    for (int k = 0; k < 2 * e.n_edges; ++k) ++start[idx(e.edges[k]) + 1];
    for (int i = 0; i < n_nodes; ++i) start[idx(i) + 1] += start[idx(i)];
    std::vector<int> fill(start.begin(), start.end() - 1);
    for (int k = 0; k < e.n_edges; ++k) {
      const int a = e.edges[2 * k], b = e.edges[2 * k + 1];
      neighbor[idx(fill[idx(a)]++)] = b;
      neighbor[idx(fill[idx(b)]++)] = a;
    }
    enum : int { unseen = -1, found = -2 };
    rank_.assign(idx(n_nodes), unseen);
    order.clear();
    order.reserve(idx(n_nodes));
    std::vector<int> component;
    for (int root = 0; root < n_nodes; ++root) {
      if (rank_[idx(root)] != unseen) continue;
      component.assign(1, root);
      rank_[idx(root)] = found;
      for (std::size_t h = 0; h < component.size(); ++h)
        for (int a = start[idx(component[h])]; a < start[idx(component[h]) + 1]; ++a)
          if (rank_[idx(neighbor[idx(a)])] == unseen) {
            rank_[idx(neighbor[idx(a)])] = found;
            component.push_back(neighbor[idx(a)]);
          }
      std::size_t h = order.size();
      rank_[idx(component.back())] = static_cast<int>(h);
      order.push_back(component.back());
      for (; h < order.size(); ++h)
        for (int a = start[idx(order[h])]; a < start[idx(order[h]) + 1]; ++a)
          if (rank_[idx(neighbor[idx(a)])] == found) {
            rank_[idx(neighbor[idx(a)])] = static_cast<int>(order.size());
            order.push_back(neighbor[idx(a)]);
          }
    }
  }

  void build_edges(const EnergyView& e) {
    n_edges = e.n_edges;
    tail.resize(idx(n_edges));
    head.resize(idx(n_edges));
    weight.resize(idx(n_edges));
    std::vector<int> count(idx(n_nodes) + 1, 0);
    for (int k = 0; k < n_edges; ++k) ++count[idx(lower_end(e, k)) + 1];
    for (int i = 0; i < n_nodes; ++i) count[idx(i) + 1] += count[idx(i)];
    for (int k = 0; k < n_edges; ++k) {
      const int at = count[idx(lower_end(e, k))]++;
      tail[idx(at)] = lower_end(e, k);
      head[idx(at)] = std::max(rank_[idx(e.edges[2 * k])], rank_[idx(e.edges[2 * k + 1])]);
      weight[idx(at)] = e.weights[k];
    }
    arc_start.assign(idx(n_nodes) + 1, 0);
    for (int k = 0; k < n_edges; ++k) {
      ++arc_start[idx(tail[idx(k)]) + 1];
      ++arc_start[idx(head[idx(k)]) + 1];
    }
    for (int i = 0; i < n_nodes; ++i) arc_start[idx(i) + 1] += arc_start[idx(i)];
    arcs.resize(2 * idx(n_edges));
    std::vector<int> fill(arc_start.begin(), arc_start.end() - 1);
    // Two rounds, because arcs to lower nodes must stand before arcs to higher ones.
    for (int k = 0; k < n_edges; ++k) arcs[idx(fill[idx(head[idx(k)])]++)] = {tail[idx(k)], k};
    for (int k = 0; k < n_edges; ++k) arcs[idx(fill[idx(tail[idx(k)])]++)] = {head[idx(k)], k};
  }

  int lower_end(const EnergyView& e, int k) const {
    return std::min(rank_[idx(e.edges[2 * k])], rank_[idx(e.edges[2 * k + 1])]);
  }

  void build_subsets(const EnergyView& e) {
    subset_start.assign(1, 0);
    member.clear();
    owner.clear();
    subset_label.clear();
    subset_cost.clear();
    for (int s = 0; s < e.n_subsets; ++s) {
      const int label = label_index[idx(e.subset_labels[s])];
      if (label < 0 || e.subset_costs[s] == 0.0 || e.subset_starts[s] == e.subset_starts[s + 1]) continue;
      for (std::int64_t k = e.subset_starts[s]; k < e.subset_starts[s + 1]; ++k) {
        member.push_back(rank_[idx(e.subset_nodes[k])]);
        owner.push_back(static_cast<int>(subset_label.size()));
      }
      subset_label.push_back(label);
      subset_cost.push_back(e.subset_costs[s]);
      subset_start.push_back(static_cast<int>(member.size()));
    }
    n_subsets = static_cast<int>(subset_label.size());
    index_entries();
  }

  void index_entries() {
    entry_start.assign(idx(n_nodes) + 1, 0);
    for (const int i : member) ++entry_start[idx(i) + 1];
    for (int i = 0; i < n_nodes; ++i) entry_start[idx(i) + 1] += entry_start[idx(i)];
    entries.resize(member.size());
    std::vector<int> fill(entry_start.begin(), entry_start.end() - 1);
    bool sorted = true;
    for (std::size_t slot = 0; slot < member.size(); ++slot) {
      const int s = owner[slot], at = fill[idx(member[slot])]++;
      entries[idx(at)] = {subset_label[idx(s)], s, static_cast<int>(slot)};
      sorted = sorted && (at == entry_start[idx(member[slot])] || entries[idx(at) - 1].label <= subset_label[idx(s)]);
    }
    if (!sorted)
      for (int i = 0; i < n_nodes; ++i)
        std::sort(
            entries.begin() + entry_start[idx(i)], entries.begin() + entry_start[idx(i) + 1],
            [](const Entry& a, const Entry& b) { return a.label != b.label ? a.label < b.label : a.slot < b.slot; });
    entry_at.resize(n_subsets == 0 ? 0 : idx(n_nodes) * idx(n_labels + 1));
    for (int i = 0; i < n_nodes && n_subsets > 0; ++i) {
      int q = entry_start[idx(i)];
      for (int k = 0; k <= n_labels; ++k) {
        while (q < entry_start[idx(i) + 1] && entries[idx(q)].label < k) ++q;
        entry_at[idx(i) * idx(n_labels + 1) + idx(k)] = q;
      }
    }
  }

  void build_unary(const EnergyView& e) {
    unary.resize(idx(n_nodes) * idx(n_labels));
    scale = 0.0;
    for (int i = 0; i < n_nodes; ++i)
      for (int k = 0; k < n_labels; ++k) {
        const double value = e.unary_at(order[idx(i)], label_of[idx(k)]);
        unary[idx(i) * idx(n_labels) + idx(k)] = value;
        scale = std::max(scale, std::abs(value));
      }
    for (const double w : weight) scale = std::max(scale, w);
    for (const double c : subset_cost) scale = std::max(scale, c);
    if (e.allowed != nullptr) price_out_forbidden(e);
  }

  // A forbidden label costs more than leaving it could ever cost, so no local minimum holds one.
  void price_out_forbidden(const EnergyView& e) {
    for (int i = 0; i < n_nodes; ++i) {
      double reach = scale > 0.0 ? scale : 1.0, low = 0.0, high = 0.0;
      for (int k = 0; k < n_labels; ++k) {
        low = std::min(low, cost(i, k));
        high = std::max(high, cost(i, k));
      }
      for (int a = arc_start[idx(i)]; a < arc_start[idx(i) + 1]; ++a) reach += 4.0 * weight[idx(arcs[idx(a)].edge)];
      for (int q = entry_start[idx(i)]; q < entry_start[idx(i) + 1]; ++q)
        reach += subset_cost[idx(entries[idx(q)].subset)];
      const double price = high + 2.0 * (high - low + reach);
      for (int k = 0; k < n_labels; ++k)
        if (!e.is_allowed(order[idx(i)], label_of[idx(k)])) unary[idx(i) * idx(n_labels) + idx(k)] = price;
    }
  }

  std::vector<int> rank_;  // given node -> compiled node
};

}  // namespace multiutility
