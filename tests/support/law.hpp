#pragma once
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <sstream>
#include <string>
#include <utility>

namespace pipecast::testing {

/// A RapidCheck property under a fixed seed: the same cases on every run. A failure prints the
/// counterexample and how to reproduce it.
template <class Testable>
void expect_law(const std::string& sentence, Testable&& law, int cases = 100) {
  rc::detail::TestParams params;
  params.seed = 20240229;
  params.maxSuccess = cases;
  params.maxDiscardRatio = 50;
  const auto result =
      rc::detail::checkTestable(std::forward<Testable>(law), rc::detail::TestMetadata{}, params);
  if (result.template is<rc::detail::SuccessResult>()) return;
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  ADD_FAILURE() << sentence << " (seed " << params.seed << ")\n" << message.str();
}

}  // namespace pipecast::testing
