// Cheap descent over single nodes and whole labels, without any flow: starts and proposals for the expansion.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "problem.hpp"
#include "watch.hpp"

namespace multiutility {

class Local {
 public:
  void set_watch(Watch* watch) { watch_ = watch; }

  void load(const Problem& problem) {
    p_ = &problem;
    score_.resize(idx(problem.n_labels));
    in_use_.resize(idx(problem.n_subsets));
    count_.resize(idx(problem.n_labels));
  }

  void set(const std::vector<int>& labels, Units energy) {
    labels_ = labels;
    energy_ = energy;
    std::fill(in_use_.begin(), in_use_.end(), 0);
    for (std::size_t slot = 0; slot < p_->member.size(); ++slot) {
      const int s = p_->owner[slot];
      in_use_[idx(s)] += labels_[idx(p_->member[slot])] == p_->subset_label[idx(s)];
    }
    std::fill(count_.begin(), count_.end(), 0);
    for (const int k : labels_) ++count_[idx(k)];
  }

  const std::vector<int>& labels() const { return labels_; }
  Units energy() const { return energy_; }
  int count(int label) const { return count_[idx(label)]; }

  // Each node in turn takes its best label, until none gains (or `sweeps` are over).
  void descend(int sweeps) {
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      bool changed = false;
      for (int i = 0; i < p_->n_nodes; ++i) changed |= improve(i, -1);
      if (!changed || (watch_ != nullptr && watch_->expired())) return;
    }
  }

  // All nodes leave `label`, each for the best of the labels in use, then settle among their neighbors. The labeling
  // is left so; the caller compares energies and may take it back.
  void vacate(int label) {
    moved_.clear();
    undo_.clear();
    for (int i = 0; i < p_->n_nodes; ++i)
      if (labels_[idx(i)] == label) moved_.push_back(i);
    for (const int i : moved_) improve(i, label);
    for (const int i : moved_) improve(i, label);
  }

  // Undo the last vacate; `energy` is what it was before.
  void take_back(Units energy) {
    for (std::size_t r = undo_.size(); r-- > 0;) {
      const auto [node, label] = undo_[r];
      relabel(node, label);
    }
    energy_ = energy;
  }

  // What the energy would be after vacate(label); the labeling stays.
  Units energy_without(int label) {
    const Units before = energy_;
    vacate(label);
    const Units without = energy_;
    take_back(before);
    return without;
  }

  // Vacate labels as long as that lowers the energy. Ends because the energy, an integer that is a function of the
  // labels, falls with every label that stays vacated.
  void drop_labels() {
    for (bool changed = true; changed;) {
      changed = false;
      for (int label = 0; label < p_->n_labels && !(watch_ != nullptr && watch_->expired()); ++label) {
        if (count(label) == 0 || count(label) == p_->n_nodes) continue;
        const Units before = energy_;
        vacate(label);
        if (energy_ < before - p_->units(tolerance()))
          changed = true;
        else
          take_back(before);
      }
    }
  }

 private:
  double tolerance() const { return 1e-12 * p_->scale; }

  bool improve(int i, int banned) {
    if (watch_ != nullptr) watch_->expired(p_->n_labels + 2 * (p_->arc_start[idx(i) + 1] - p_->arc_start[idx(i)]));
    const int old = labels_[idx(i)];
    const double* unary = &p_->unary[idx(i) * idx(p_->n_labels)];
    std::copy(unary, unary + p_->n_labels, score_.begin());
    for (int a = p_->arc_start[idx(i)]; a < p_->arc_start[idx(i) + 1]; ++a) {
      const auto& arc = p_->arcs[idx(a)];
      score_[idx(labels_[idx(arc.head)])] -= p_->weight[idx(arc.edge)];
    }
    for (int q = p_->entry_start[idx(i)]; q < p_->entry_start[idx(i) + 1]; ++q) {
      const auto& entry = p_->entries[idx(q)];
      if (in_use_[idx(entry.subset)] == (entry.label == old ? 1 : 0))
        score_[idx(entry.label)] += p_->subset_cost[idx(entry.subset)];
    }
    const double here = score_[idx(old)];
    if (banned >= 0) score_[idx(banned)] = std::numeric_limits<double>::max();
    const int best = static_cast<int>(std::min_element(score_.begin(), score_.end()) - score_.begin());
    if (best == old || (old != banned && !(score_[idx(best)] < here - tolerance()))) return false;
    energy_ += p_->change_of(i, best, labels_, in_use_);
    relabel(i, best);
    return true;
  }

  void relabel(int i, int label) {
    undo_.push_back({i, labels_[idx(i)]});
    for (auto [q, end] = p_->entries_of(i, labels_[idx(i)]); q < end; ++q) --in_use_[idx(p_->entries[idx(q)].subset)];
    for (auto [q, end] = p_->entries_of(i, label); q < end; ++q) ++in_use_[idx(p_->entries[idx(q)].subset)];
    --count_[idx(labels_[idx(i)])];
    ++count_[idx(label)];
    labels_[idx(i)] = label;
  }

  const Problem* p_ = nullptr;
  Watch* watch_ = nullptr;
  Units energy_ = 0;
  std::vector<int> labels_, in_use_, count_, moved_;
  std::vector<double> score_;
  std::vector<std::pair<int, int>> undo_;
};

}  // namespace multiutility
