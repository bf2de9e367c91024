#include "tools/interrupt.hpp"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <initializer_list>

namespace pipecast {
namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, number);
  return set;
}

}  // namespace

Interrupt::Interrupt() {
  const sigset_t set = stop_signals();
  sigprocmask(SIG_BLOCK, &set, nullptr);
  descriptor_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

Interrupt::~Interrupt() {
  signalfd_siginfo ignored;
  // Signals that were answered must not end the process when they are let in again.
  while (descriptor_ >= 0 && read(descriptor_, &ignored, sizeof ignored) > 0) continue;
  if (descriptor_ >= 0) close(descriptor_);
  const sigset_t set = stop_signals();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace pipecast
