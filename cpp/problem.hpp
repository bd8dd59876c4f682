// An energy compiled for the solvers: nodes renumbered for locality, unused labels dropped, forbidden labels priced
// out, costs scaled to about 1.
//
// Whether one labeling is better than another is decided in whole units. Sums of doubles depend on their order, so that
// with ties there and back may both seem to gain, for ever; sums of integers do not. The energy in units is one fixed
// function of the labels, and whatever lowers it at every step comes to an end.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "energy.hpp"

namespace multiutility {

using Units = std::int64_t;

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
  double factor = 1.0;        // a given cost times this is the compiled one: a power of two, so nothing is rounded

  void compile(const EnergyView& e) {
    choose_labels(e);
    number_nodes(e);
    choose_factor(e);
    build_edges(e);
    build_subsets(e);
    build_unary(e);
    choose_unit();
  }

  double cost(int node, int label) const { return unary[idx(node) * idx(n_labels) + idx(label)]; }

  // The entries of `node` in subsets of `label`, as [begin, end) into `entries`.
  std::pair<int, int> entries_of(int node, int label) const {
    if (n_subsets == 0) return {0, 0};
    const int* at = &entry_at[idx(node) * idx(n_labels + 1) + idx(label)];
    return {at[0], at[1]};
  }

  Units units(double cost) const { return static_cast<Units>(cost * units_per_cost_); }
  double cost_of(Units energy) const { return static_cast<double>(energy) / units_per_cost_; }

  Units evaluate(const std::vector<int>& labels) const {
    Units total = 0;
    for (int i = 0; i < n_nodes; ++i) total += units(cost(i, labels[idx(i)]));
    for (int k = 0; k < n_edges; ++k)
      if (labels[idx(tail[idx(k)])] != labels[idx(head[idx(k)])]) total += units(weight[idx(k)]);
    for (int s = 0; s < n_subsets; ++s)
      for (int slot = subset_start[idx(s)]; slot < subset_start[idx(s) + 1]; ++slot)
        if (labels[idx(member[idx(slot)])] == subset_label[idx(s)]) {
          total += units(subset_cost[idx(s)]);
          break;
        }
    return total;
  }

  // What evaluate() gains or loses, exactly, if one node alone takes `label`; `in_use` counts the nodes of each subset
  // that carry its label.
  Units change_of(int i, int label, const std::vector<int>& labels, const std::vector<int>& in_use) const {
    const int old = labels[idx(i)];
    if (old == label) return 0;
    Units change = units(cost(i, label)) - units(cost(i, old));
    for (int a = arc_start[idx(i)]; a < arc_start[idx(i) + 1]; ++a) {
      const int other = labels[idx(arcs[idx(a)].head)];
      if (other == label) change -= units(weight[idx(arcs[idx(a)].edge)]);
      if (other == old) change += units(weight[idx(arcs[idx(a)].edge)]);
    }
    for (auto [q, end] = entries_of(i, old); q < end; ++q)
      if (in_use[idx(entries[idx(q)].subset)] == 1) change -= units(subset_cost[idx(entries[idx(q)].subset)]);
    for (auto [q, end] = entries_of(i, label); q < end; ++q)
      if (in_use[idx(entries[idx(q)].subset)] == 0) change += units(subset_cost[idx(entries[idx(q)].subset)]);
    return change;
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

  // Near 1 nothing overflows or underflows on the way: not in sums over a node, nor in the floats of the messages.
  void choose_factor(const EnergyView& e) {
    double largest = 0.0;
    for (int i = 0; i < n_nodes; ++i)
      for (int k = 0; k < e.n_labels; ++k)
        if (e.is_allowed(i, k)) largest = std::max(largest, std::abs(e.unary_at(i, k)));
    for (int k = 0; k < e.n_edges; ++k) largest = std::max(largest, e.weights[k]);
    for (int s = 0; s < e.n_subsets; ++s) largest = std::max(largest, e.subset_costs[s]);
    // Powers beyond 1000 are infinite or rounded themselves; up to there is near enough for costs at the very ends.
    factor = largest > 0.0 ? std::ldexp(1.0, std::clamp(-std::ilogb(largest), -1000, 1000)) : 1.0;
  }

  // The sum of all magnitudes makes fewer than 2^61 units, so that neither an energy nor a difference of two overflows.
  void choose_unit() {
    double total = 0.0;
    for (int i = 0; i < n_nodes; ++i) {
      double most = 0.0;
      for (int k = 0; k < n_labels; ++k) most = std::max(most, std::abs(cost(i, k)));
      total += most;
    }
    for (const double w : weight) total += w;
    for (const double c : subset_cost) total += c;
    units_per_cost_ = total > 0.0 ? std::ldexp(1.0, 60 - std::ilogb(total)) : 1.0;
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
      weight[idx(at)] = factor * e.weights[k];
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
      subset_cost.push_back(factor * e.subset_costs[s]);
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
        const double value = factor * e.unary_at(order[idx(i)], label_of[idx(k)]);
        unary[idx(i) * idx(n_labels) + idx(k)] = value;
        if (e.is_allowed(order[idx(i)], label_of[idx(k)])) scale = std::max(scale, std::abs(value));
      }
    for (const double w : weight) scale = std::max(scale, w);
    for (const double c : subset_cost) scale = std::max(scale, c);
    if (e.allowed != nullptr) price_out_forbidden(e);
  }

  // A forbidden label costs more than leaving it could ever cost, so no local minimum holds one. What it was given to
  // cost does not matter.
  void price_out_forbidden(const EnergyView& e) {
    for (int i = 0; i < n_nodes; ++i) {
      double reach = scale > 0.0 ? scale : 1.0, low = 0.0, high = 0.0;
      for (int k = 0; k < n_labels; ++k) {
        if (!e.is_allowed(order[idx(i)], label_of[idx(k)])) continue;
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
  double units_per_cost_ = 1.0;
};

}  // namespace multiutility
