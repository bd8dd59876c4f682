// Alpha-expansion with subset costs, primal-dual: every move starts from the flow that earlier moves left behind.
//
// In the graph of the move to alpha (Boykov et al. 2001, Delong et al. 2012) a node has the terminal capacity
// height(x_i, i) - height(alpha, i), every arc a residual that is read off the reparametrization, and each subset that
// the move may charge or release one auxiliary node. Only nodes that would gain by themselves are in excess; after the
// first sweep these are few. Their excess is pushed towards nodes that can take it in (push-relabel, Goldberg and
// Tarjan 1988, with gap relabeling), which never looks far from them; only where excess has a long way to go is the
// rest of a move left to an algorithm that searches from both ends (maxflow.hpp). Where excess gets stuck is the
// source's side of a minimum cut, and the cut restores the invariants of the reparametrization for the new labels by
// itself (compare Komodakis and Tziritas 2007 for energies without subset costs).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "maxflow.hpp"
#include "problem.hpp"
#include "reparametrization.hpp"
#include "watch.hpp"

namespace multiutility {

class Expansion {
 public:
  using Change = Reparametrization::Change;

  // At its limit a move is given up, and labels stay as they are.
  void set_watch(Watch* watch) {
    watch_ = watch;
    cut_.set_watch(watch);
  }

  // `patience`, if not negative, is how many arcs a move may look at before it is left to a minimum cut, with no looks
  // to spare.
  void load(const Problem& problem, std::int64_t patience = -1) {
    p_ = &problem;
    n_ = problem.n_nodes;
    e_ = problem.n_edges;
    r_.load(problem);
    const int total = n_ + problem.n_subsets;
    top_ = total + 2;
    base_ = 0;
    const std::int64_t size = static_cast<std::int64_t>(idx(n_) + 2 * idx(e_) + 2 * problem.member.size());
    patience_ = patience >= 0 ? patience : size;
    spare_ = patience >= 0 ? 0 : kLooks * size + kMoreLooks;
    rank_.assign(idx(total), 0);
    active_at_.assign(idx(total), 0);
    reached_at_.assign(idx(total), 0);
    n_moves_ = n_flows_ = work_ = 0;
  }

  // Begin from `labels`, with flows and shares from elsewhere (any values) or from nothing.
  void start(const std::vector<int>& labels, const std::vector<double>* flow = nullptr,
             const std::vector<double>* share = nullptr) {
    r_.start(labels, flow, share);
    given_flow_ = flow != nullptr;
  }

  const std::vector<int>& labels() const { return r_.labels(); }
  Units energy() const { return r_.energy(); }
  std::int64_t n_moves() const { return n_moves_; }
  std::int64_t n_flows() const { return n_flows_; }
  // Steps of searches for flow: a measure of time that no other load can disturb.
  std::int64_t work() const { return work_; }

  // The best move in which any set of nodes turns to alpha; true if it lowers the energy.
  bool expand(int alpha) {
    ++n_moves_;
    work_ += std::max(1, n_ / 32);  // the scan for sources
    alpha_ = alpha;
    target_ = r_.heights(alpha);
    alpha_flow_ = r_.flows(alpha);
    begin_ranks();
    for (int i = 0; i < n_; ++i)
      if (r_.current(i) - target_[i] > r_.tolerance()) activate(i);
    if (active_.empty()) return false;
    ++n_flows_;
    push_excess();
    spare_ -= std::clamp(n_steps_ - patience_, std::int64_t{0}, spare_);
    if (watch_ != nullptr && watch_->expired()) return false;
    collect_changes();
    return !changes_.empty() && r_.apply(changes_, false);
  }

  // Change labels by force, whatever that costs.
  void assign(const std::vector<Change>& changes) { r_.apply(changes, true); }

 private:
  // Looks to spare: so many for each arc, and so many more, since in small problems they take no time.
  static constexpr std::int64_t kLooks = 3, kMoreLooks = 40000;
  static constexpr std::int64_t kDischargeSteps = 30;  // for the watch

  struct Joint {  // an edge, or E + a slot, with its residuals in both directions
    int what, from, to;
    double there, back;
  };

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

  // Push as much as the arc has room for, or all the excess. One of them is then exactly zero, whatever the rounding:
  // without that a node at the end of thousands of arcs, whose height is a large number, could push for ever.
  void push(int code, int from, int to, double room) {
    const double has = excess(from), amount = std::min(room, has);
    if (code < 2 * e_)
      push_arc(p_->arcs[idx(code)].edge, from, to, amount, amount == room);
    else
      push_slot(code - 2 * e_, from, amount, amount == room);
    if (amount == has) exhaust(from);
  }

  void exhaust(int v) {
    if (v < n_)
      target_[v] = r_.current(v);
    else
      r_.round_unassigned(v - n_);
  }

  void push_arc(int edge, int from, int to, double amount, bool fills) {
    const Reparametrization::Range& room = r_.room(edge);
    if (fills)
      alpha_flow_[edge] = from < to ? room.high : room.low;
    else
      alpha_flow_[edge] += from < to ? amount : -amount;
    target_[from] += amount;
    target_[to] -= amount;
  }

  void push_slot(int slot, int from, double amount, bool fills) {
    const int s = p_->owner[idx(slot)];
    const bool charging = charges(s), rises = (from < n_) == charging;
    if (charging)
      r_.charge(slot, rises ? amount : -amount);
    else
      r_.shift(slot, rises ? amount : -amount);
    if (fills) r_.round_share(slot, rises ? p_->subset_cost[idx(s)] : 0.0);
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
  //
  // Why this ends, in exact terms. An arc is open or not, and rank(v) <= rank(u) + 1 for every open arc from v to u:
  // at first all ranks are 0 or 1; a push opens no arc but the reverse of one that leads a rank down; a node rises only
  // when its arcs to lower ranks are closed, and no further than this allows. So ranks never fall, and a node that
  // rises gains at least 1: it can rise `top_` times at most. Between two rises of its ends an arc is filled once, for
  // what fills it flows one way only. A discharge that neither raises its node nor fills an arc leaves the node with
  // exactly no excess and activates nodes of lower rank alone, so it lowers the sum of the active nodes' ranks, which
  // only rises and fillings add to.

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
    n_steps_ = 0;
  }

  void activate(int v) {
    if (active_at_[idx(v)] == base_) return;
    active_at_[idx(v)] = base_;
    active_.push_back(v);
  }

  void push_excess() {
    while (!active_.empty() && !(watch_ != nullptr && watch_->expired(kDischargeSteps))) {
      const int v = active_.back();
      active_.pop_back();
      active_at_[idx(v)] = 0;
      if (rank(v) < top_) discharge(v);
      if (n_steps_ > patience_ + spare_) return cut_rest();
    }
  }

  // Push excess one rank down; what cannot leave raises its node.
  void discharge(int v) {
    const int here = rank(v);
    int lowest = top_;
    for_arcs(v, [&](int code, int u) {
      ++n_steps_;
      const double room = residual(code, v, u);
      if (room <= r_.tolerance() || !takes_part(u)) return false;
      const int there = rank(u);
      if (there + 1 != here) {
        lowest = std::min(lowest, there);
        return false;
      }
      ++work_;
      push(code, v, u, room);
      if (excess(u) > r_.tolerance()) activate(u);
      return excess(v) <= r_.tolerance();
    });
    if (excess(v) <= r_.tolerance()) return;
    raise(v, here, std::min(std::max(lowest, here) + 1, top_));
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
    n_steps_ += static_cast<std::int64_t>(raised_.size());
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

  // --- long ways -----------------------------------------------------------------------------------------------------
  // Where excess has a long way to go, ranks that rise one by one take quadratic time. What is left of such a move goes
  // to MinCut, which searches from both ends; its flow is taken over, so that later moves begin with it. Flow from
  // elsewhere makes the ways longer still, as what it has gathered from far away is to go back there: it is forgotten.
  //
  // That a way is long shows in the number of arcs looked at. Every move may look at as many as the graph of a cut has,
  // since building that graph takes about as long. Looks beyond that come from a supply that all moves share: where
  // edges outweigh all else, ways are long in every move, and each move would have to find that out anew.

  void cut_rest() {
    const int total = n_ + p_->n_subsets;
    if (given_flow_) start(std::vector<int>(r_.labels()));
    work_ += n_ + e_;
    cut_.reset(total);
    joined_.clear();
    raised_.clear();
    for (int v = 0; v < total; ++v)
      if (v < n_ ? takes_part(v) : is_joined(v - n_)) raised_.push_back(v);
    for (const int v : raised_) add_excess(v);
    for (int e = 0; e < e_; ++e) {
      const int tail = p_->tail[idx(e)], head = p_->head[idx(e)];
      if (takes_part(tail) && takes_part(head))
        join({e, tail, head, r_.room(e).high - alpha_flow_[e], alpha_flow_[e] - r_.room(e).low});
    }
    for (int s = 0; s < p_->n_subsets; ++s)
      if (is_joined(s)) join_subset(s);
    cut_.solve();
    for (std::size_t j = 0; j < joined_.size(); ++j) take_over(joined_[j], static_cast<int>(j));
    for (const int v : raised_)
      if (cut_.excess(v) == 0.0 && std::abs(excess(v)) > r_.tolerance()) exhaust(v);
  }

  void add_excess(int v) {
    const double value = excess(v);
    if (value > r_.tolerance()) cut_.add_terminal(v, 0.0, value);
    if (value < -r_.tolerance()) cut_.add_terminal(v, -value, 0.0);
  }

  // Whether a move to alpha may charge the subset or release it.
  bool is_joined(int s) const { return charges(s) != r_.in_use(s); }

  // Of a charging subset any node can be charged; of one in use, the nodes that carry its label can be relieved.
  void join_subset(int s) {
    const int n = charges(s) ? p_->subset_start[idx(s) + 1] - p_->subset_start[idx(s)] : r_.n_listed(s);
    for (int r = 0; r < n; ++r) {
      const int slot = r_.roster(s, r), node = p_->member[idx(slot)];
      if (takes_part(node)) join({e_ + slot, node, n_ + s, slot_residual(slot, node), slot_residual(slot, n_ + s)});
    }
  }

  void join(const Joint& joint) {
    const double there = joint.there > r_.tolerance() ? joint.there : 0.0;
    const double back = joint.back > r_.tolerance() ? joint.back : 0.0;
    if (there == 0.0 && back == 0.0) return;
    cut_.add_edge(joint.from, joint.to, there, back);
    joined_.push_back({joint.what, joint.from, joint.to, there, back});
  }

  void take_over(const Joint& joint, int edge) {
    const double there = cut_.residual_along(edge), back = cut_.residual_against(edge);
    if (there < joint.there) transfer(joint.what, joint.from, joint.to, joint.there - there, there == 0.0);
    if (back < joint.back) transfer(joint.what, joint.to, joint.from, joint.back - back, back == 0.0);
  }

  void transfer(int what, int from, int to, double amount, bool fills) {
    if (what < e_)
      push_arc(what, from, to, amount, fills);
    else
      push_slot(what - e_, from, amount, fills);
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
  Watch* watch_ = nullptr;
  int n_ = 0, e_ = 0;
  Reparametrization r_;
  std::int64_t n_moves_ = 0, n_flows_ = 0, work_ = 0;
  bool given_flow_ = false;
  std::int64_t n_steps_ = 0;  // arcs that push_excess() has looked at in this move
  std::int64_t patience_ = 0,
               spare_ = 0;  // how many it may look at in each move, and how many more in all that are to come
  int alpha_ = 0, base_ = 0, top_ = 0;
  double* target_ = nullptr;                        // heights of alpha
  double* alpha_flow_ = nullptr;                    // flows of alpha
  std::vector<int> rank_, active_at_, reached_at_;  // of each node; when it was last active or reached, as `base_`
  std::vector<int> active_, raised_, reached_, at_rank_;
  MinCut cut_;
  std::vector<Joint> joined_;
  std::vector<Change> changes_;
};

}  // namespace multiutility
