// Sequential tree-reweighted message passing (Kolmogorov 2006) for Potts energies with subset costs.
//
// A cost paid once for a subset is split into shares: share_i >= 0 is added to unary(i, label) and the shares of a
// subset never exceed its cost, so a lower bound with shares is a lower bound without. Every pass returns such a bound:
// for any labeling, summing the inequalities that define the messages telescopes to it, whatever the messages were.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "problem.hpp"
#include "watch.hpp"

namespace multiutility {

template <class Real>
class Messages {
 public:
  // A pass is always finished, except when interrupted.
  void set_watch(Watch* watch) { watch_ = watch; }

  void load(const Problem& problem) {
    p_ = &problem;
    stride_ = (problem.n_labels + kLanes - 1) / kLanes * kLanes;
    message_.assign(idx(problem.n_edges) * idx(stride_), Real(0));
    belief_.assign(idx(stride_), Real(0));
    scratch_.assign(idx(stride_), Real(0));
    load_unary();
    share_.assign(problem.member.size(), 0.0);
    left_ = problem.subset_cost;
    wanted_.assign(idx(problem.n_subsets), 0.0);
    ratio_.assign(idx(problem.n_subsets), 1.0);
  }

  const std::vector<double>& shares() const { return share_; }

  // One sweep over the nodes, upwards or downwards; returns a lower bound of the energy. `labels`, if given, receives
  // a labeling rounded on the way; `flow` [K, E], if given, the antisymmetric part of the messages.
  double pass(bool up, std::vector<int>* labels, std::vector<double>* flow) {
    double bound = 0.0;
    std::fill(wanted_.begin(), wanted_.end(), 0.0);
    for (int r = 0; r < p_->n_nodes; ++r) bound += visit(up ? r : p_->n_nodes - 1 - r, up, labels, flow);
    for (int s = 0; s < p_->n_subsets; ++s) {
      const double want = wanted_[idx(s)], cost = p_->subset_cost[idx(s)];
      ratio_[idx(s)] = want > cost ? cost / want : 1.0;
    }
    return bound;
  }

 private:
  static constexpr int kLanes = 8;
  static constexpr Real kPadding = std::numeric_limits<Real>::max() / Real(64);

  void load_unary() {
    unary_.assign(idx(p_->n_nodes) * idx(stride_), kPadding);
    for (int i = 0; i < p_->n_nodes; ++i)
      for (int k = 0; k < p_->n_labels; ++k) unary_[idx(i) * idx(stride_) + idx(k)] = static_cast<Real>(p_->cost(i, k));
  }

  // Lane-wise, so that compilers may vectorize it without being told to reorder floating-point operations.
  Real minimum(const Real* values) const {
    Real lane[kLanes];
    for (int j = 0; j < kLanes; ++j) lane[j] = values[j];
    for (int k = kLanes; k < stride_; k += kLanes)
      for (int j = 0; j < kLanes; ++j) lane[j] = values[k + j] < lane[j] ? values[k + j] : lane[j];
    Real low = lane[0];
    for (int j = 1; j < kLanes; ++j) low = std::min(low, lane[j]);
    return low;
  }

  double visit(int i, bool up, std::vector<int>* labels, std::vector<double>* flow) {
    const int first = p_->arc_start[idx(i)], last = p_->arc_start[idx(i) + 1];
    if (watch_ != nullptr) watch_->expired(stride_ * (2 + last - first));
    int middle = first;
    while (middle < last && p_->arcs[idx(middle)].head < i) ++middle;
    const int out_first = up ? middle : first, out_last = up ? last : middle;
    const int n_out = out_last - out_first, n_in = (last - first) - n_out;

    Real* unary = &unary_[idx(i) * idx(stride_)];
    std::copy(unary, unary + stride_, belief_.begin());
    for (int a = first; a < last; ++a) {
      const Real* m = &message_[idx(p_->arcs[idx(a)].edge) * idx(stride_)];
      for (int k = 0; k < stride_; ++k) belief_[idx(k)] += m[k];
    }
    share_costs(i, unary);
    if (labels != nullptr) round(i, up, unary, first, middle, last, *labels);

    const Real fraction = Real(1) / static_cast<Real>(std::max({n_out, n_in, 1}));
    double bound = (1.0 - n_out * static_cast<double>(fraction)) * static_cast<double>(minimum(belief_.data()));
    for (int a = out_first; a < out_last; ++a) bound += send(a, up, fraction, flow);
    return bound;
  }

  double send(int a, bool up, Real fraction, std::vector<double>* flow) {
    const int edge = p_->arcs[idx(a)].edge;
    Real* m = &message_[idx(edge) * idx(stride_)];
    const Real weight = static_cast<Real>(p_->weight[idx(edge)]);
    for (int k = 0; k < stride_; ++k) scratch_[idx(k)] = fraction * belief_[idx(k)] - m[k];
    const Real low = minimum(scratch_.data());
    if (flow != nullptr) record(edge, up, low, weight, m, *flow);
    for (int k = 0; k < stride_; ++k) {
      const Real v = scratch_[idx(k)] - low;
      m[k] = v < weight ? v : weight;
    }
    return static_cast<double>(low);
  }

  void record(int edge, bool up, Real low, Real weight, const Real* old, std::vector<double>& flow) const {
    const double sign = up ? -0.5 : 0.5;  // the new message enters the edge's head when going up, its tail otherwise
    for (int k = 0; k < p_->n_labels; ++k)
      flow[idx(k) * idx(p_->n_edges) + idx(edge)] =
          sign * (static_cast<double>(std::min(scratch_[idx(k)] - low, weight)) - static_cast<double>(old[k]));
  }

  // Give back shares that no longer bind; then lift the node's best label towards its second best with what is left.
  // Where a subset is wanted by more than its cost can lift, each node gets in proportion to what it wants.
  void share_costs(int i, Real* unary) {
    const int first = p_->entry_start[idx(i)], last = p_->entry_start[idx(i) + 1];
    if (first == last || p_->n_labels < 2) return;
    Real best = minimum(belief_.data());
    for (int q = first; q < last; ++q) {
      const auto& entry = p_->entries[idx(q)];
      const double old = share_[idx(entry.slot)];
      if (old == 0.0 && belief_[idx(entry.label)] > best) continue;
      const Real base = belief_[idx(entry.label)] - static_cast<Real>(old);
      belief_[idx(entry.label)] = kPadding;
      const Real rival = minimum(belief_.data());
      const double want = static_cast<double>(rival) - static_cast<double>(base);
      double& left = left_[idx(entry.subset)];
      double share = 0.0;
      if (want > 0.0) {
        wanted_[idx(entry.subset)] += want;
        share = std::min(want * ratio_[idx(entry.subset)], left + old);
      }
      left = std::max(0.0, left + old - share);
      share_[idx(entry.slot)] = share;
      belief_[idx(entry.label)] = base + static_cast<Real>(share);
      unary[entry.label] += static_cast<Real>(share - old);
      best = std::min(rival, belief_[idx(entry.label)]);
    }
  }

  // The label that is best given the labels already chosen and the messages from the nodes still to come.
  void round(int i, bool up, const Real* unary, int first, int middle, int last, std::vector<int>& labels) {
    std::copy(unary, unary + stride_, scratch_.begin());
    for (int a = first; a < last; ++a) {
      const auto& arc = p_->arcs[idx(a)];
      if ((a < middle) == up) {
        scratch_[idx(labels[idx(arc.head)])] -= static_cast<Real>(p_->weight[idx(arc.edge)]);
      } else {
        const Real* m = &message_[idx(arc.edge) * idx(stride_)];
        for (int k = 0; k < stride_; ++k) scratch_[idx(k)] += m[k];
      }
    }
    labels[idx(i)] =
        static_cast<int>(std::min_element(scratch_.begin(), scratch_.begin() + p_->n_labels) - scratch_.begin());
  }

  const Problem* p_ = nullptr;
  Watch* watch_ = nullptr;
  int stride_ = 0;
  std::vector<Real> unary_, message_, belief_, scratch_;
  std::vector<double> share_, left_, wanted_, ratio_;
};

}  // namespace multiutility
