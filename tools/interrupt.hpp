#pragma once

namespace pipecast {

/// Takes SIGINT, SIGTERM and SIGHUP out of the process and makes them readable, so that a long job
/// ends where it likes.
class Interrupt {
 public:
  Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();

  /// Readable once a signal came; −1 where the system has none to give.
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

}  // namespace pipecast
