// Alpha-expansion with subset costs, primal-dual: every move starts from the flow that earlier moves left behind.
//
// In the graph of the move to alpha (Boykov et al. 2001, Delong et al. 2012) a node has the terminal capacity
// height(x_i, i) - height(alpha, i), every arc a residual that is read off the reparametrization, and each subset that
// the move may charge or release one auxiliary node. Only nodes that would gain by themselves are in excess; after the
// first sweep these are few. Their excess is pushed towards nodes that can take it in (push-relabel, Goldberg and
// Tarjan 1988, with gap relabeling), which never looks far from them. Where it gets stuck is the source's side of a
// minimum cut, and the cut restores the invariants of the reparametrization for the new labels by itself (compare
// Komodakis and Tziritas 2007 for energies without subset costs).
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "problem.hpp"
#include "reparametrization.hpp"

namespace multiutility {

class Expansion {
 public:
  using Change = Reparametrization::Change;

  void load(const Problem& problem) {
    p_ = &problem;
    n_ = problem.n_nodes;
    e_ = problem.n_edges;
    r_.load(problem);
    const int total = n_ + problem.n_subsets;
    top_ = total + 2;
    base_ = 0;
    rank_.assign(idx(total), 0);
    active_at_.assign(idx(total), 0);
    reached_at_.assign(idx(total), 0);
    n_moves_ = n_flows_ = work_ = 0;
  }

  // Begin from `labels`, with flows and shares from elsewhere (any values) or from nothing.
  void start(const std::vector<int>& labels, const std::vector<double>* flow = nullptr,
             const std::vector<double>* share = nullptr) {
    r_.start(labels, flow, share);
  }

  const std::vector<int>& labels() const { return r_.labels(); }
  double energy() const { return r_.energy(); }
  long n_moves() const { return n_moves_; }
  long n_flows() const { return n_flows_; }
  long work() const { return work_; }  // steps of searches for flow: a measure of time that no other load can disturb

  // The best move in which any set of nodes turns to alpha; true if it lowers the energy.
  bool expand(int alpha) {
    ++n_moves_;
    work_ += n_ / 32;  // the scan for sources
    alpha_ = alpha;
    target_ = r_.heights(alpha);
    alpha_flow_ = r_.flows(alpha);
    begin_ranks();
    for (int i = 0; i < n_; ++i)
      if (r_.current(i) - target_[i] > r_.tolerance()) activate(i);
    if (active_.empty()) return false;
    ++n_flows_;
    push_excess();
    collect_changes();
    return !changes_.empty() && r_.apply(changes_, false);
  }

  // Change labels by force, whatever that costs.
  void assign(const std::vector<Change>& changes) { r_.apply(changes, true); }

 private:
  // --- the graph of a move: nodes 0 .. V-1, then one auxiliary node for each subset ---------------------------------
  // An arc code below 2 E is an arc of the graph; 2 E + slot joins a node and the auxiliary node of a subset.

  // What v could still send out (positive) or take in (negative).
  double excess(int v) const {
    if (v < n_) return r_.current(v) - target_[v];
    return charges(v - n_) ? -r_.unassigned(v - n_) : r_.unassigned(v - n_);
  }

  bool charges(int s) const { return p_->subset_label[idx(s)] == alpha_; }

  // From the tail of an edge (its lower node) flow of alpha may rise to its upper bound, from the head fall to the
  // lower.
  double arc_residual(const Problem::Arc& arc, bool from_tail) const {
    const Reparametrization::Range& room = r_.room(arc.edge);
    return from_tail ? room.high - alpha_flow_[arc.edge] : alpha_flow_[arc.edge] - room.low;
  }

  double slot_residual(int slot, int from) const {
    const int s = p_->owner[idx(slot)];
    return (from < n_) == charges(s) ? p_->subset_cost[idx(s)] - r_.share(slot) : r_.share(slot);
  }

  double residual(int code, int from, int to) const {
    return code < 2 * e_ ? arc_residual(p_->arcs[idx(code)], from < to) : slot_residual(code - 2 * e_, from);
  }

  bool open(int code, int from, int to) const { return residual(code, from, to) > r_.tolerance(); }

  void push(int code, int from, int to, double amount) {
    if (code < 2 * e_) {
      alpha_flow_[p_->arcs[idx(code)].edge] += from < to ? amount : -amount;
      target_[from] += amount;
      target_[to] -= amount;
      return;
    }
    const int slot = code - 2 * e_;
    const bool charging = charges(p_->owner[idx(slot)]);
    const double signed_amount = (from < n_) == charging ? amount : -amount;
    if (charging)
      r_.charge(slot, signed_amount);
    else
      r_.shift(slot, signed_amount);
  }

  // Nodes that carry alpha already are no part of the graph.
  bool takes_part(int v) const { return v >= n_ || r_.label(v) != alpha_; }

  // Calls visit(code, other) for the arcs of v until one returns true. Charges come first: most excess ends there.
  template <class Visit>
  void for_arcs(int v, Visit&& visit) const {
    if (v >= n_) {
      for (int r = 0; r < r_.n_listed(v - n_); ++r) {
        const int slot = r_.roster(v - n_, r);
        if (visit(2 * e_ + slot, p_->member[idx(slot)])) return;
      }
      return;
    }
    for (auto [q, end] = p_->entries_of(v, alpha_); q < end; ++q) {
      const auto& entry = p_->entries[idx(q)];
      if (!r_.in_use(entry.subset) && visit(2 * e_ + entry.slot, n_ + entry.subset)) return;
    }
    for (int a = p_->arc_start[idx(v)]; a < p_->arc_start[idx(v) + 1]; ++a)
      if (visit(a, p_->arcs[idx(a)].head)) return;
    for (auto [q, end] = p_->entries_of(v, r_.label(v)); q < end; ++q) {
      const auto& entry = p_->entries[idx(q)];
      if (visit(2 * e_ + entry.slot, n_ + entry.subset)) return;
    }
  }

  // --- pushing excess ------------------------------------------------------------------------------------------------
  // A rank is a lower bound of the number of arcs to a node that can take flow in. Nodes that were never raised in this
  // move have rank 0 if they can, else 1, so nothing far from the excess is ever touched. Stored ranks count on from
  // move to move, beyond `base_`, so that nothing need be cleared. At `top_` no such node can be reached any more.

  int rank(int v) const {
    if (rank_[idx(v)] > base_) return rank_[idx(v)] - base_;
    return excess(v) < -r_.tolerance() ? 0 : 1;
  }

  void begin_ranks() {
    if (base_ > std::numeric_limits<int>::max() - 3 * (top_ + 1)) {
      base_ = 0;
      std::fill(rank_.begin(), rank_.end(), 0);
      std::fill(active_at_.begin(), active_at_.end(), 0);
      std::fill(reached_at_.begin(), reached_at_.end(), 0);
    }
    base_ += top_ + 1;
    at_rank_.assign(idx(top_) + 1, 0);
    raised_.clear();
    active_.clear();
  }

  void activate(int v) {
    if (active_at_[idx(v)] == base_) return;
    active_at_[idx(v)] = base_;
    active_.push_back(v);
  }

  void push_excess() {
    while (!active_.empty()) {
      const int v = active_.back();
      active_.pop_back();
      active_at_[idx(v)] = 0;
      if (rank(v) < top_) discharge(v);
    }
  }

  // Push excess one rank down; what cannot leave raises its node.
  void discharge(int v) {
    const int here = rank(v);
    int lowest = top_;
    for_arcs(v, [&](int code, int u) {
      const double room = residual(code, v, u);
      if (room <= r_.tolerance() || !takes_part(u)) return false;
      const int there = rank(u);
      if (there + 1 != here) {
        lowest = std::min(lowest, there);
        return false;
      }
      ++work_;
      const double amount = std::min(room, excess(v));
      push(code, v, u, amount);
      if (excess(u) > r_.tolerance()) activate(u);
      return excess(v) <= r_.tolerance();
    });
    if (excess(v) <= r_.tolerance()) return;
    raise(v, here, std::min(lowest + 1, top_));
    activate(v);
  }

  void raise(int v, int from, int to) {
    ++work_;
    if (rank_[idx(v)] > base_)
      --at_rank_[idx(from)];
    else
      raised_.push_back(v);
    set_rank(v, to);
    // If nobody is left at a rank, nobody beyond it can get down any more. (Ranks below 2 are not counted.)
    if (from < 2 || at_rank_[idx(from)] > 0) return;
    for (const int u : raised_) {
      const int beyond = rank_[idx(u)] - base_;
      if (beyond <= from || beyond == top_) continue;
      --at_rank_[idx(beyond)];
      set_rank(u, top_);
    }
  }

  void set_rank(int v, int rank) {
    rank_[idx(v)] = base_ + rank;
    ++at_rank_[idx(rank)];
  }

  // All that excess still reaches turns to alpha: the smallest of the minimum cuts.
  void collect_changes() {
    changes_.clear();
    reached_.clear();
    for (const int v : raised_)
      if (excess(v) > r_.tolerance()) reach(v);
    for (std::size_t first = 0; first < reached_.size(); ++first) {
      const int v = reached_[first];
      if (v < n_) changes_.push_back({v, alpha_});
      for_arcs(v, [&](int code, int u) {
        if (open(code, v, u) && takes_part(u)) reach(u);
        return false;
      });
    }
  }

  void reach(int v) {
    if (reached_at_[idx(v)] == base_) return;
    reached_at_[idx(v)] = base_;
    reached_.push_back(v);
  }

  const Problem* p_ = nullptr;
  int n_ = 0, e_ = 0;
  Reparametrization r_;
  long n_moves_ = 0, n_flows_ = 0, work_ = 0;
  int alpha_ = 0, base_ = 0, top_ = 0;
  double* target_ = nullptr;                        // heights of alpha
  double* alpha_flow_ = nullptr;                    // flows of alpha
  std::vector<int> rank_, active_at_, reached_at_;  // of each node; when it was last active or reached, as `base_`
  std::vector<int> active_, raised_, reached_, at_rank_;
  std::vector<Change> changes_;
};

}  // namespace multiutility
