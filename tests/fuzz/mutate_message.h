// Mutates protobuf messages field by field. So the results are mostly well-formed: they get through
// the parser and reach the code under test.
#ifndef LEMMA_TESTS_FUZZ_MUTATE_MESSAGE_H_
#define LEMMA_TESTS_FUZZ_MUTATE_MESSAGE_H_

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>

namespace lemma::fuzz {

// Makes one to four changes: sets or clears a field; adds, sets, removes or
// exchanges elements of a repeated field; or replaces a string or a submessage
// by another string or submessage of the same message. Many new numbers are
// extreme. `seed` decides the changes, except that LLVMFuzzerMutate changes
// some strings.
void MutateMessage(google::protobuf::Message* message, unsigned seed);

// Implements LLVMFuzzerCustomMutator (tests/fuzz/fuzz_target.h) for serialized messages that have
// the type of *message. Overwrites the content of *message. For one seed in 16, and if the bytes do
// not parse or the result is too long, LLVMFuzzerMutate changes the plain bytes instead.
size_t MutateSerialized(google::protobuf::Message* message, uint8_t* data, size_t size,
                        size_t max_size, unsigned seed);

}  // namespace lemma::fuzz

#endif  // LEMMA_TESTS_FUZZ_MUTATE_MESSAGE_H_
