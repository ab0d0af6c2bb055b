// Spells attention at random.
#ifndef LEMMA_TESTS_RUNTIME_BLOCKS_ATTENTION_SPELLINGS_H_
#define LEMMA_TESTS_RUNTIME_BLOCKS_ATTENTION_SPELLINGS_H_

#include "tests/runtime/blocks/cascade_spellings.h"
#include "tests/runtime/blocks/speller.h"

namespace lemma {

// `form`: one of the forms of attention.
Spelling SpellAttention(Cascade form, Speller* f, bool gradient);

}  // namespace lemma

#endif  // LEMMA_TESTS_RUNTIME_BLOCKS_ATTENTION_SPELLINGS_H_
