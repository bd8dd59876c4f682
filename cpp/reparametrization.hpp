// An energy with its costs moved about, so that a labeling pays all of them at its nodes.
//
// `flow(k, e)` shifts cost of label k between the ends of edge e, and `share(slot)` charges a part of a subset's cost
// to one of its nodes, so that
//   height(k, i) = unary(i, k) + flows into i + shares of i in subsets of label k.
// Three invariants hold for the present labels x:
//   1. an edge costs nothing beyond the heights: flow(x_tail) - flow(x_head) = weight [x_tail != x_head];
//   2. no label is overdrawn on an edge: flow(x_tail) - weight <= flow(k) <= flow(x_head) + weight for every k;
//   3. a subset in use is charged, in full, to nodes that carry its label; one out of use is charged at most its cost.
// Hence the energy is the sum of height(x_i, i).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "problem.hpp"

namespace multiutility {

class Reparametrization {
 public:
  struct Change {
    int node, label;
  };
  struct Range {
    double low, high;
  };

  void load(const Problem& problem) {
    p_ = &problem;
    n_ = problem.n_nodes;
    k_ = problem.n_labels;
    e_ = problem.n_edges;
    tolerance_ = 1e-13 * problem.scale;
    height_.resize(idx(n_) * idx(k_));
    flow_.resize(idx(e_) * idx(k_));
    share_.resize(problem.member.size());
    current_.resize(idx(n_));
    room_.resize(idx(e_));
    labels_.resize(idx(n_));
    in_use_.resize(idx(problem.n_subsets));
    unassigned_.resize(idx(problem.n_subsets));
    settled_in_use_.resize(idx(problem.n_subsets));
    listed_.resize(idx(problem.n_subsets));
    roster_.resize(problem.member.size());
    place_.resize(problem.member.size());
    stale_.assign(idx(problem.n_subsets), 0);
  }

  // Begin from `labels`, with flows and shares from elsewhere (any values) or from nothing.
  void start(const std::vector<int>& labels, const std::vector<double>* flow = nullptr,
             const std::vector<double>* share = nullptr) {
    labels_ = labels;
    for (int i = 0; i < n_; ++i)
      for (int k = 0; k < k_; ++k) height_[at(k, i)] = p_->cost(i, k);
    std::fill(flow_.begin(), flow_.end(), 0.0);
    if (flow != nullptr)
      for (int k = 0; k < k_; ++k)
        for (int e = 0; e < e_; ++e) set_flow(k, e, (*flow)[on(k, e)]);
    for (int e = 0; e < e_; ++e) settle_edge(e, flow != nullptr);
    std::fill(share_.begin(), share_.end(), 0.0);
    if (share != nullptr)
      for (std::size_t slot = 0; slot < share_.size(); ++slot) set_share(static_cast<int>(slot), (*share)[slot]);
    for (std::size_t slot = 0; slot < share_.size(); ++slot) roster_[slot] = place_[slot] = static_cast<int>(slot);
    for (int s = 0; s < p_->n_subsets; ++s) {
      in_use_[idx(s)] = 0;
      for (int slot = p_->subset_start[idx(s)]; slot < p_->subset_start[idx(s) + 1]; ++slot)
        in_use_[idx(s)] += carries(slot);
      settle_subset(s);
    }
    for (int i = 0; i < n_; ++i) current_[idx(i)] = height_[at(labels_[idx(i)], i)];
    energy_ = p_->evaluate(labels_);
  }

  const std::vector<int>& labels() const { return labels_; }
  int label(int i) const { return labels_[idx(i)]; }
  Units energy() const { return energy_; }
  double tolerance() const { return tolerance_; }  // amounts up to this are rounding errors

  // What the graph of a move reads, and changes by pushing flow.
  double* heights(int label) { return height_.data() + at(label, 0); }
  double* flows(int label) { return flow_.data() + on(label, 0); }
  double current(int i) const { return current_[idx(i)]; }        // height of the present label
  const Range& room(int edge) const { return room_[idx(edge)]; }  // what invariant 2 allows
  bool in_use(int s) const { return in_use_[idx(s)] > 0; }
  double share(int slot) const { return share_[idx(slot)]; }
  double unassigned(int s) const {
    return unassigned_[idx(s)];
  }  // cost less shares; excess on its way makes it negative

  // The roster of a subset begins with the `n_listed` slots that arcs of its auxiliary node can lead to: the nodes that
  // carry its label if it is in use, else those that are charged a share. Subsets are large and these are few.
  int n_listed(int s) const { return listed_[idx(s)]; }
  int roster(int s, int r) const { return roster_[idx(p_->subset_start[idx(s)] + r)]; }

  // More of an unused subset's cost on one of its nodes.
  void charge(int slot, double amount) {
    share_[idx(slot)] += amount;
    unassigned_[idx(p_->owner[idx(slot)])] -= amount;
    height_[at(p_->subset_label[idx(p_->owner[idx(slot)])], p_->member[idx(slot)])] += amount;
    if (!is_listed(slot)) list(slot);
  }

  // The share is exactly this, where sums are so only up to rounding; the same for a subset that is charged in full.
  void round_share(int slot, double value) { share_[idx(slot)] = value; }
  void round_unassigned(int s) { unassigned_[idx(s)] = 0.0; }

  // More of a used subset's cost on a node that carries its label.
  void shift(int slot, double amount) {
    const int node = p_->member[idx(slot)];
    share_[idx(slot)] += amount;
    unassigned_[idx(p_->owner[idx(slot)])] -= amount;
    current_[idx(node)] += amount;
    height_[at(labels_[idx(node)], node)] += amount;
  }

  // Take over changed labels and mend the reparametrization. An unforced change that turns out not to lower the energy
  // (rounding) is taken back; then the result is false. So every loop of unforced changes that goes on while they are
  // kept comes to an end: the energy is an integer and a function of the labels, and falls each time.
  bool apply(const std::vector<Change>& changes, bool forced) {
    const Units before = energy_;
    undo_.clear();
    for (const Change& c : changes) {
      undo_.push_back({c.node, labels_[idx(c.node)]});
      set_label(c.node, c.label);
    }
    const double least_gain = std::max(tolerance_, 1e-12 * std::abs(p_->cost_of(before)));
    const bool keep = forced || energy_ < before - p_->units(least_gain);
    if (!keep) {
      for (std::size_t r = undo_.size(); r-- > 0;) set_label(undo_[r].node, undo_[r].label);
      energy_ = before;
    }
    mend(forced || !keep);
    return keep;
  }

 private:
  std::size_t at(int label, int node) const { return idx(label) * idx(n_) + idx(node); }
  std::size_t on(int label, int edge) const { return idx(label) * idx(e_) + idx(edge); }

  void set_flow(int label, int edge, double value) {
    double& flow = flow_[on(label, edge)];
    const double change = value - flow;
    flow = value;
    height_[at(label, p_->tail[idx(edge)])] += change;
    height_[at(label, p_->head[idx(edge)])] -= change;
  }

  void set_share(int slot, double value) {
    const int label = p_->subset_label[idx(p_->owner[idx(slot)])], node = p_->member[idx(slot)];
    height_[at(label, node)] += value - share_[idx(slot)];
    share_[idx(slot)] = value;
    if (labels_[idx(node)] == label) refresh(node);
  }

  // Invariants 1 and 2 for one edge, after a label at one of its ends has changed.
  void settle_edge(int edge, bool bound_all = true) {
    const int a = labels_[idx(p_->tail[idx(edge)])], b = labels_[idx(p_->head[idx(edge)])];
    const double weight = p_->weight[idx(edge)];
    if (a != b) {
      const double lack = weight - (flow_[on(a, edge)] - flow_[on(b, edge)]);
      if (lack != 0.0) {
        set_flow(a, edge, flow_[on(a, edge)] + 0.5 * lack);
        set_flow(b, edge, flow_[on(b, edge)] - 0.5 * lack);
      }
    }
    const double low = flow_[on(a, edge)] - weight, high = flow_[on(b, edge)] + weight;
    room_[idx(edge)] = {low, high};
    if (!bound_all) return;
    for (int k = 0; k < k_; ++k) {
      const double value = flow_[on(k, edge)];
      if (value < low)
        set_flow(k, edge, low);
      else if (value > high)
        set_flow(k, edge, high);
    }
  }

  bool carries(int slot) const {
    return labels_[idx(p_->member[idx(slot)])] == p_->subset_label[idx(p_->owner[idx(slot)])];
  }

  // Invariant 3 for one subset, after a forced change of labels or when it came into use or out of use.
  void settle_subset(int s) {
    const int first = p_->subset_start[idx(s)], last = p_->subset_start[idx(s) + 1];
    const bool used = in_use_[idx(s)] > 0;
    double charged = 0.0;
    listed_[idx(s)] = 0;
    for (int slot = first; slot < last; ++slot) {
      if (used && share_[idx(slot)] != 0.0 && !carries(slot)) set_share(slot, 0.0);
      if (used ? carries(slot) : share_[idx(slot)] != 0.0) list(slot);
      charged += share_[idx(slot)];
    }
    settled_in_use_[idx(s)] = used;
    double lack = p_->subset_cost[idx(s)] - charged;
    // Too much: each payer is relieved in turn.
    for (int r = 0; r < listed_[idx(s)] && lack < 0.0; ++r) {
      const int slot = roster(s, r);
      const double relief = std::min(share_[idx(slot)], -lack);
      set_share(slot, share_[idx(slot)] - relief);
      lack += relief;
    }
    unassigned_[idx(s)] = used ? 0.0 : std::max(0.0, lack);
    if (!used || lack <= 0.0) return;
    // Too little: all on one node, the one that likes the label best. It is unlikely to leave, and then no flow need
    // pass.
    int keeper = roster_[idx(first)];
    for (int r = first; r < first + listed_[idx(s)]; ++r)
      if (liking(roster_[idx(r)]) > liking(keeper)) keeper = roster_[idx(r)];
    set_share(keeper, share_[idx(keeper)] + lack);
  }

  double liking(int slot) const {
    return -p_->cost(p_->member[idx(slot)], p_->subset_label[idx(p_->owner[idx(slot)])]);
  }

  void list(int slot) {
    const int s = p_->owner[idx(slot)];
    swap_places(slot, roster(s, listed_[idx(s)]++));
  }

  void unlist(int slot) {
    const int s = p_->owner[idx(slot)];
    swap_places(slot, roster(s, --listed_[idx(s)]));
  }

  void swap_places(int slot, int other) {
    std::swap(place_[idx(slot)], place_[idx(other)]);
    roster_[idx(place_[idx(slot)])] = slot;
    roster_[idx(place_[idx(other)])] = other;
  }

  bool is_listed(int slot) const {
    const int s = p_->owner[idx(slot)];
    return place_[idx(slot)] < p_->subset_start[idx(s)] + listed_[idx(s)];
  }

  void set_label(int i, int label) {
    energy_ += p_->change_of(i, label, labels_, in_use_);
    for (auto [q, end] = p_->entries_of(i, labels_[idx(i)]); q < end; ++q) {
      const auto& entry = p_->entries[idx(q)];
      --in_use_[idx(entry.subset)];
      if (is_listed(entry.slot)) unlist(entry.slot);
    }
    for (auto [q, end] = p_->entries_of(i, label); q < end; ++q) {
      const auto& entry = p_->entries[idx(q)];
      ++in_use_[idx(entry.subset)];
      if (!is_listed(entry.slot)) list(entry.slot);
    }
    labels_[idx(i)] = label;
  }

  void mend(bool forced) {
    for (const Change& c : undo_)
      for (int a = p_->arc_start[idx(c.node)]; a < p_->arc_start[idx(c.node) + 1]; ++a)
        settle_edge(p_->arcs[idx(a)].edge);
    // A minimum cut leaves the shares right, so after one only subsets that came into use or out of use need care.
    for (const Change& c : undo_)
      for (auto [q, end] = p_->entries_of(c.node, c.label); q < end; ++q) {
        const int s = p_->entries[idx(q)].subset;
        if (forced || in_use_[idx(s)] == 0) mark_stale(s);
      }
    for (const Change& c : undo_)
      for (auto [q, end] = p_->entries_of(c.node, labels_[idx(c.node)]); q < end; ++q) {
        const int s = p_->entries[idx(q)].subset;
        if (forced || !settled_in_use_[idx(s)]) mark_stale(s);
      }
    for (const int s : stale_list_) {
      stale_[idx(s)] = 0;
      settle_subset(s);
    }
    stale_list_.clear();
    for (const Change& c : undo_) {
      refresh(c.node);
      for (int a = p_->arc_start[idx(c.node)]; a < p_->arc_start[idx(c.node) + 1]; ++a) refresh(p_->arcs[idx(a)].head);
    }
  }

  void mark_stale(int s) {
    if (stale_[idx(s)]) return;
    stale_[idx(s)] = 1;
    stale_list_.push_back(s);
  }

  void refresh(int i) { current_[idx(i)] = height_[at(labels_[idx(i)], i)]; }

  const Problem* p_ = nullptr;
  int n_ = 0, k_ = 0, e_ = 0;
  double tolerance_ = 0.0;
  Units energy_ = 0;
  std::vector<double> height_, flow_, share_;  // [K, V], [K, E], [slots]
  std::vector<double> current_, unassigned_;
  std::vector<Range> room_;
  std::vector<int> labels_, in_use_, listed_, roster_, place_;
  std::vector<Change> undo_;
  std::vector<char> stale_, settled_in_use_;
  std::vector<int> stale_list_;
};

}  // namespace multiutility
