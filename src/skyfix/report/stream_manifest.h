// What run.json says of a reconstruction, besides what every run's says.
#pragma once

#include "skyfix/report/cloud_file.h"
#include "skyfix/report/stream_run.h"

namespace skyfix {

// The setup's configuration with the outputs in it.
Json stream_run_configuration(const StreamRunSetup& setup);
// counts {frames, ok, rejected, failed, skipped}, reasons.
void write_stream_counts(const StreamCounts& counts, Json& manifest);
// stream {frames, kept, ...} and windows; windows that are noted and not in `figures` stay.
void write_stream_figures(const StreamFigures& figures, Json& manifest);
// cloud.json
Json cloud_json(const CloudWriter& cloud, const CloudOptions& options, const std::string& sky);

}  // namespace skyfix
