// Arithmetic on the indices of a loop nest: sums of leaves, and the leaves themselves. Internal to
// kernels.
#ifndef LEMMA_KERNELS_LOOPS_LEAF_TABLE_H_
#define LEMMA_KERNELS_LOOPS_LEAF_TABLE_H_

#include <functional>
#include <optional>
#include <vector>

#include "kernels/loops/loop_ir.h"

namespace lemma {
namespace loops {

// The intersection of two intervals. Here and below, nullopt stands for the unbounded interval.
std::optional<Interval> Intersect(const std::optional<Interval>& a,
                                  const std::optional<Interval>& b);

// A sum of leaves with bounds of its value. The bounds can be tighter than those that follow from
// the bounds of the leaves, as for x - m * (x div m).
struct BoundedAffine {
  Affine affine;
  std::optional<Interval> bounds;
};

// Owns the leaves of one nest. Equal leaves are stored once.
class LeafTable {
 public:
  // Adds the next variable, numbered from 0. Add all variables before any other leaf. SetExtent
  // replaces a variable's extent; call it before the variable is used.
  void AddVar(int64_t extent);
  void SetExtent(int var, int64_t extent);

  BoundedAffine Var(int var) const;  // the constant 0 if the extent is at most 1
  // The integer value of node number `node`, which depends on the variables `deps`.
  BoundedAffine Load(int node, const Vars& deps);
  // a + scale * b.
  BoundedAffine Sum(const BoundedAffine& a, const BoundedAffine& b, int64_t scale = 1) const;
  // Div and Mod round towards minus infinity.
  BoundedAffine Product(const BoundedAffine& a, const BoundedAffine& b);
  BoundedAffine Div(const BoundedAffine& a, const BoundedAffine& b);
  BoundedAffine Mod(const BoundedAffine& a, const BoundedAffine& b);
  // The minimum (kMin) or maximum (kMax).
  BoundedAffine Extreme(IndexLeaf::Kind kind, const BoundedAffine& a, const BoundedAffine& b);

  std::optional<Interval> BoundsOf(const Affine& p) const;  // the bounds that p's leaves imply
  Vars DepsOf(const Affine& p) const;                       // the variables that p depends on
  bool DataDependent(const Affine& p) const;                // whether p depends on a Load

  // Takes the leaves out; the table must not be used afterwards.
  std::vector<IndexLeaf> Take() { return std::move(leaves_); }

 private:
  // The sum of one leaf. Adds the leaf unless an equal one exists.
  BoundedAffine Intern(IndexLeaf leaf);
  BoundedAffine DivConst(const BoundedAffine& a, int64_t m);

  std::vector<IndexLeaf> leaves_;
};

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_KERNELS_LOOPS_LEAF_TABLE_H_
