// Alpha-expansion with subset costs, primal-dual: every move starts from the flow that earlier moves left behind.
//
// In the graph of the move to alpha (Boykov et al. 2001, Delong et al. 2012) a node has the terminal capacity
// height(x_i, i) - height(alpha, i), every arc a residual that is read off the reparametrization, and each subset that
// the move may charge or release one auxiliary node. Only nodes that would gain by themselves are sources; after the
// first sweep these are few, and the search never looks far from them. It is the source half of incremental
// breadth-first search (Goldberg et al. 2011). The minimum cut restores the invariants of the reparametrization for the
// new labels by itself (compare Komodakis and Tziritas 2007 for energies without subset costs).
#pragma once

#include <algorithm>
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
    ground_ = depth_now_ = 0;
    depth_.assign(idx(total), 0);
    parent_.assign(idx(total), kRoot);
    next_arc_.assign(idx(total), 0);
    burdened_.assign(idx(problem.n_subsets), 0);
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
    level_.clear();
    for (int i = 0; i < n_; ++i)
      if (r_.current(i) - target_[i] > r_.tolerance()) level_.push_back(i);
    std::erase_if(level_, [this](int i) { return drain(i); });
    if (level_.empty()) return false;
    ++n_flows_;
    grow_trees();
    changes_.clear();
    for (const int v : touched_)
      if (v < n_ && in_tree(v)) {
        changes_.push_back({v, alpha});
        depth_[idx(v)] = ground_;  // a node may have been touched twice
      }
    return !changes_.empty() && r_.apply(changes_, false);
  }

  // Change labels by force, whatever that costs.
  void assign(const std::vector<Change>& changes) { r_.apply(changes, true); }

 private:
  static constexpr int kRoot = -1, kOrphan = -2;

  // --- the graph of a move: nodes 0 .. V-1, then one auxiliary node for each subset ---------------------------------
  // An arc code below 2 E is an arc of the graph; 2 E + slot joins a node and the auxiliary node of a subset.

  // What v could still send out (positive) or take in (negative).
  double excess(int v) const { return v < n_ ? r_.current(v) - target_[v] : -spare_of(v - n_); }

  bool charges(int s) const { return p_->subset_label[idx(s)] == alpha_; }

  // The auxiliary node of an unused subset of alpha passes on to the sink what is not yet charged to any node.
  double spare_of(int s) const { return charges(s) && !r_.in_use(s) ? r_.spare(s) : 0.0; }

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

  int other_end(int code, int v) const {
    if (code < 2 * e_) return p_->arcs[idx(code)].head;
    return v < n_ ? n_ + p_->owner[idx(code - 2 * e_)] : p_->member[idx(code - 2 * e_)];
  }

  int seen_from_other_end(int code) const { return code < 2 * e_ ? p_->reverse[idx(code)] : code; }

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

  // Calls visit(code, position, other) for the arcs of v, from `position` on, until one returns true. Charges come
  // first: most excess ends there. Nodes that carry alpha already are no part of the graph, but never in a tree nor in
  // excess, so that only growth has to look out for them.
  template <class Visit>
  void for_arcs(int v, int position, Visit&& visit) const {
    if (v >= n_) {
      for (int r = position; r < r_.n_listed(v - n_); ++r) {
        const int slot = r_.roster(v - n_, r);
        if (visit(2 * e_ + slot, r, p_->member[idx(slot)])) return;
      }
      return;
    }
    int base = 0;
    if (p_->n_subsets > 0) {
      const auto [first, last] = p_->entries_of(v, alpha_);
      for (int q = first + position; q < last; ++q) {
        const auto& entry = p_->entries[idx(q)];
        if (!r_.in_use(entry.subset) && visit(2 * e_ + entry.slot, q - first, n_ + entry.subset)) return;
      }
      base = last - first;
    }
    const int first = p_->arc_start[idx(v)], last = p_->arc_start[idx(v) + 1];
    for (int a = first + std::max(0, position - base); a < last; ++a) {
      if (visit(a, base + a - first, p_->arcs[idx(a)].head)) return;
    }
    if (p_->n_subsets > 0) {
      base += last - first;
      const auto [begin, end] = p_->entries_of(v, r_.label(v));
      for (int q = begin + std::max(0, position - base); q < end; ++q) {
        const auto& entry = p_->entries[idx(q)];
        if (visit(2 * e_ + entry.slot, base + q - begin, n_ + entry.subset)) return;
      }
    }
  }

  // --- incremental breadth-first search from the sources -------------------------------------------------------------

  // Depths count on from move to move, so that nothing need be cleared: what is not beyond `ground_` is in no tree.
  bool in_tree(int v) const { return depth_[idx(v)] > ground_; }

  void enter(int v, int depth, int parent) {
    ++work_;
    touched_.push_back(v);
    depth_[idx(v)] = depth;
    parent_[idx(v)] = parent;
    next_arc_[idx(v)] = 0;
  }

  // Most excess is taken in by a neighbor; what is left makes a node a source. True if nothing is left.
  bool drain(int i) {
    ++work_;
    for_arcs(i, 0, [&](int code, int, int u) {
      const double take = std::min({excess(i), -excess(u), residual(code, i, u)});
      if (take <= r_.tolerance()) return false;
      push(code, i, u, take);
      if (u >= n_) r_.take_spare(u - n_, take);
      return excess(i) <= r_.tolerance();
    });
    return excess(i) <= r_.tolerance();
  }

  // Grow the trees of the sources level by level; whatever can take flow is fed on the way. What is in a tree at the
  // end turns to alpha.
  void grow_trees() {
    touched_.clear();
    next_level_.clear();
    ground_ = depth_now_ + 1;
    depth_now_ = ground_ + 1;
    for (const int v : level_) enter(v, depth_now_, kRoot);
    sources_ = level_;
    for (; !level_.empty(); ++depth_now_) {
      for (std::size_t r = 0; r < level_.size(); ++r) grow_from(level_[r]);
      level_.swap(next_level_);
      next_level_.clear();
    }
  }

  void grow_from(int v) {
    if (depth_[idx(v)] != depth_now_) return;
    for_arcs(v, 0, [&](int code, int, int u) {
      while (!in_tree(u) && open(code, v, u)) {
        if (u < n_ && r_.label(u) == alpha_) return false;
        if (excess(u) < -r_.tolerance()) {
          augment(v, code, u);
          if (depth_[idx(v)] != depth_now_) return true;
        } else {
          enter(u, depth_now_ + 1, kOrphan);
          hang(u, seen_from_other_end(code));
          next_level_.push_back(u);
        }
      }
      return false;
    });
  }

  void augment(int v, int code, int u) {
    double amount = std::min(residual(code, v, u), -excess(u));
    int root = v;
    while (parent_[idx(root)] >= 0) {
      const int up = other_end(parent_[idx(root)], root);
      amount = std::min(amount, residual(parent_[idx(root)], up, root));
      root = up;
    }
    amount = std::min(amount, excess(root));
    push(code, v, u, amount);
    if (u >= n_) r_.take_spare(u - n_, amount);
    for (int w = v; parent_[idx(w)] >= 0;) {
      const int arc = parent_[idx(w)], up = other_end(arc, w);
      ++work_;
      push(arc, up, w, amount);
      if (!open(arc, up, w)) make_orphan(w);
      w = up;
    }
    if (excess(root) <= r_.tolerance()) make_orphan(root);
    std::reverse(orphans_.begin(), orphans_.end());
    adopt();
  }

  void make_orphan(int v) {
    parent_[idx(v)] = kOrphan;
    orphans_.push_back(v);
  }

  // Hang v below the other end of an arc. Auxiliary nodes note that something hangs below them.
  void hang(int v, int code) {
    parent_[idx(v)] = code;
    if (code >= 2 * e_ && v < n_) burdened_[idx(p_->owner[idx(code - 2 * e_)])] = ground_;
  }

  // Each orphan finds a parent as near to a source as before, or moves to a deeper level, or leaves its tree. Those
  // near the sources come first: the others may find their parents among them.
  void adopt() {
    for (std::size_t first = 0; first < orphans_.size(); ++first) {
      const int v = orphans_[first];
      if (!(v < n_ ? adopt_at_same_depth(v) : charges(v - n_) ? adopt_at_source(v) : adopt_at_payer(v))) move_down(v);
    }
    orphans_.clear();
  }

  bool adopt_at_same_depth(int v) {
    const int above = depth_[idx(v)] - 1;
    if (above == ground_) return false;
    bool found = false;
    for_arcs(v, next_arc_[idx(v)], [&](int code, int position, int u) {
      if (depth_[idx(u)] != above || !open(code, u, v)) return false;
      hang(v, code);
      next_arc_[idx(v)] = position;
      return found = true;
    });
    return found;
  }

  // Any node may be the parent of a charging auxiliary node; the sources are the nearest and almost always suffice.
  bool adopt_at_source(int v) {
    if (depth_[idx(v)] != ground_ + 2) return false;
    for (; !sources_.empty(); sources_.pop_back()) {
      const int i = sources_.back();
      if (parent_[idx(i)] != kRoot) continue;
      const int code = code_between(i, v - n_);
      if (code < 0 || !open(code, i, v)) continue;
      parent_[idx(v)] = code;
      return true;
    }
    return false;
  }

  bool adopt_at_payer(int v) {
    for (int r = 0; r < r_.n_payers(v - n_); ++r) {
      const int slot = r_.roster(v - n_, r), i = p_->member[idx(slot)];
      if (depth_[idx(i)] + 1 != depth_[idx(v)] || !open(2 * e_ + slot, i, v)) continue;
      parent_[idx(v)] = 2 * e_ + slot;
      return true;
    }
    return false;
  }

  int code_between(int i, int s) const {
    for (auto [q, end] = p_->entries_of(i, alpha_); q < end; ++q)
      if (p_->entries[idx(q)].subset == s) return 2 * e_ + p_->entries[idx(q)].slot;
    return -1;
  }

  void move_down(int v) {
    ++work_;
    int parent = kOrphan, nearest = depth_now_ + 1;
    const auto consider = [&](int code, int position, int u) {
      if (depth_[idx(u)] >= nearest || !in_tree(u) || !open(code, u, v)) return;
      parent = code;
      nearest = depth_[idx(u)];
      next_arc_[idx(v)] = position;
    };
    const auto disown = [&](int code, int u) {
      if (in_tree(u) && parent_[idx(u)] == seen_from_other_end(code)) make_orphan(u);
    };
    if (v < n_) {
      for_arcs(v, 0, [&](int code, int position, int u) {
        consider(code, position, u);
        disown(code, u);
        return false;
      });
    } else {
      const int s = v - n_, size = p_->subset_start[idx(s) + 1] - p_->subset_start[idx(s)];
      const int n_parents = charges(s) ? size : r_.n_payers(s),
                n_children = burdened_[idx(s)] == ground_ ? r_.n_listed(s) : 0;
      for (int r = 0; r < n_parents; ++r) consider(2 * e_ + r_.roster(s, r), 0, p_->member[idx(r_.roster(s, r))]);
      for (int r = 0; r < n_children; ++r) disown(2 * e_ + r_.roster(s, r), p_->member[idx(r_.roster(s, r))]);
    }
    depth_[idx(v)] = parent >= 0 ? nearest + 1 : ground_;
    parent_[idx(v)] = kOrphan;
    if (parent < 0) return;
    hang(v, parent);
    if (nearest == depth_now_)
      next_level_.push_back(v);
    else if (nearest + 1 == depth_now_)
      level_.push_back(v);
  }

  const Problem* p_ = nullptr;
  int n_ = 0, e_ = 0;
  Reparametrization r_;
  long n_moves_ = 0, n_flows_ = 0, work_ = 0;
  int alpha_ = 0, ground_ = 0, depth_now_ = 0;
  double* target_ = nullptr;      // heights of alpha
  double* alpha_flow_ = nullptr;  // flows of alpha
  std::vector<int> depth_, parent_, next_arc_, burdened_;
  std::vector<int> level_, next_level_, orphans_, touched_, sources_;
  std::vector<Change> changes_;
};

}  // namespace multiutility
