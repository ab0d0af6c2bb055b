// Changes protobuf messages by their structure, so that what comes out is mostly well-formed and
// gets past the parser, to the reader that has to judge it.
#ifndef LEMMA_TESTS_FUZZ_MUTATE_MESSAGE_H_
#define LEMMA_TESTS_FUZZ_MUTATE_MESSAGE_H_

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>

namespace lemma::fuzz {

// One to four changes: a field set, dropped, repeated or moved, a number at one of its extremes, a
// string or a part like another one in the message. The same `seed` gives the same changes.
void MutateMessage(google::protobuf::Message* message, unsigned seed);

// What LLVMFuzzerCustomMutator is for bytes of `message`'s type.
size_t MutateSerialized(google::protobuf::Message* message, uint8_t* data, size_t size,
                        size_t max_size, unsigned seed);

}  // namespace lemma::fuzz

#endif  // LEMMA_TESTS_FUZZ_MUTATE_MESSAGE_H_
