#pragma once
#include <string_view>

namespace pipecast {

/// The style sheet of the HTML report: light and dark by the reader's setting, narrow screens,
/// print.
inline constexpr std::string_view kReportStyle = R"css(
:root{--ink:#1a1a1a;--paper:#fff;--rule:#d8d8d8;--soft:#666;--busy:#3b6ea5;--warmup:#e3c16f;--steady:#c9733d;
--cooldown:#9fb7a3;--transfer:#8d5aa8;--bad:#b3261e}
@media (prefers-color-scheme:dark){:root{--ink:#e6e6e6;--paper:#161616;--rule:#3a3a3a;--soft:#a0a0a0;--busy:#6f9fd0}}
body{font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:0 auto;max-width:1240px;
padding:1rem}
h1{font-size:1.5rem;margin:.2em 0}h2{font-size:1.1rem;margin:1.8em 0 .4em}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(190px,1fr));gap:.7rem;margin:1rem 0}
.figure{border:1px solid var(--rule);border-radius:6px;padding:.6rem .8rem}
dt{color:var(--soft)}dd{margin:0;font-size:1.35rem;font-variant-numeric:tabular-nums}small{color:var(--soft)}
.timeline{overflow-x:auto;border:1px solid var(--rule);border-radius:6px;background:#fff;padding:.4rem}
table{border-collapse:collapse;width:100%;display:block;overflow-x:auto;font-variant-numeric:tabular-nums}
th,td{padding:.2rem .6rem;text-align:left;border-bottom:1px solid var(--rule);white-space:nowrap}
th{color:var(--soft);font-weight:600}.n{text-align:right}.wide{width:40%;min-width:260px}
.bar{display:flex;height:1rem;background:var(--rule)}.bar i{display:block;height:100%}
.busy{background:var(--busy)}.warmup{background:var(--warmup)}.steady{background:var(--steady)}
.cooldown{background:var(--cooldown)}.transfer{background:var(--transfer)}
.legend{color:var(--soft)}.swatch{display:inline-block;width:.8em;height:.8em;margin:0 .35em 0 .6em;vertical-align:-1px}
.curve{width:100%;min-width:260px;height:44px;display:block}.curve path{fill:var(--busy)}
.curve line{stroke:var(--bad);stroke-width:1.5;vector-effect:non-scaling-stroke}.bad{color:var(--bad)}
footer{margin:2rem 0 1rem;color:var(--soft)}
@media print{body{max-width:none}.bar i,.curve path{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
)css";

}  // namespace pipecast
