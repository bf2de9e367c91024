#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sim/graph/transfers_key.hpp"

namespace pipecast {

/// Whole-number durations for the dry run that some lowerings place messages by.
struct EagerTimes {
  std::int64_t forward = 1;
  std::int64_t backward_full = 2;
  std::int64_t backward_input = 1;
  std::int64_t backward_weight = 1;
  std::int64_t message = 0;
};

/// One message of a program. Cells count from 0 on their rank.
struct EagerMessage {
  TransferKey key;
  std::int64_t moment = 0;  ///< its producer ends
  std::size_t sender = 0;
  std::size_t receiver = 0;
  std::size_t producer = 0;  ///< cell of the sender
  std::size_t consumer = 0;  ///< cell of the receiver
};

/// Every rank runs its cells in order, each as soon as its inputs are there.
struct EagerRun {
  bool complete = false;                          ///< every cell could run
  std::vector<std::vector<std::int64_t>> starts;  ///< [rank][cell]
  std::vector<std::vector<std::int64_t>> ends;    ///< [rank][cell]
  std::vector<EagerMessage> messages;             ///< by receiver, then by consumer
};

/// Precondition: compute cells only. O(operations).
EagerRun eager_run(const Program& program, const EagerTimes& times);

/// An input of a cell that the cell itself makes: the other half of an overlapped pair.
bool made_by(std::span<const Op> cell, const TransferKey& key, int stages);

}  // namespace pipecast
