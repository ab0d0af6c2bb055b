// Writes attention as random choices of operators, for Spell (cascade_spellings.h).
#ifndef LEMMA_TESTS_RUNTIME_BLOCKS_ATTENTION_SPELLINGS_H_
#define LEMMA_TESTS_RUNTIME_BLOCKS_ATTENTION_SPELLINGS_H_

#include "tests/runtime/blocks/cascade_spellings.h"
#include "tests/runtime/blocks/speller.h"

namespace lemma {

// A spelling of `form`, which must be a form of attention, with a gradient if `gradient` is true.
Spelling SpellAttention(Cascade form, Speller* f, bool gradient);

}  // namespace lemma

#endif  // LEMMA_TESTS_RUNTIME_BLOCKS_ATTENTION_SPELLINGS_H_
