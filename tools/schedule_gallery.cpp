#include "tools/schedule_gallery.hpp"

#include "sim/study/gallery.hpp"
#include "tools/arguments.hpp"
#include "tools/console.hpp"
#include "tools/output_file.hpp"

namespace pipecast {
namespace {

void declare_gallery(CLI::App& app) {
  value_option(app, "-o,--output", "F.md", "the file to write (default: the standard output)");
}

ExitCode act_gallery(const CLI::App& app, const Session& session) {
  const Result<void> written =
      write_output(text_of(app, "--output").value_or("-"),
                   [&](std::ostream& out) { write_gallery(session.schedules, out); });
  return written ? ExitCode::Done : report_faults(written.error());
}

}  // namespace

Command schedule_gallery_command() {
  return {.name = "gallery",
          .summary = "every schedule with diagram, figures and closed forms, as Markdown",
          .example = "pipecast schedule gallery -o gallery.md",
          .declare = declare_gallery,
          .act = act_gallery};
}

}  // namespace pipecast
