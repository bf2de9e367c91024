#include "sim/report/html_report.hpp"

#include "sim/report/report_page.hpp"

namespace pipecast {

void write_html_report(const RunView& run, std::ostream& out) { write_page(run_page(run), out); }

}  // namespace pipecast
