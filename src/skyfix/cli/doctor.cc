#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <cstdlib>

#include "skyfix/base/byte_size.h"
#include "skyfix/base/error.h"
#include "skyfix/base/version.h"
#include "skyfix/cli/commands.h"
#include "skyfix/frames/video_library.h"
#include "skyfix/match/mutual_nearest.h"
#include "skyfix/memory/budget.h"
#include "skyfix/memory/cuda_library.h"
#include "skyfix/memory/machine.h"
#include "skyfix/memory/torch_version.h"

namespace skyfix::cli {
namespace {

// One line of the report: what was looked at, what was found, and what to do about it.
struct Finding {
  std::string what;
  std::string found;
  std::string remedy;  // empty = nothing to be done
};
using Findings = std::vector<Finding>;

// Where the libraries that the GPU part lacks come from.
constexpr const char* kLibraryRemedy =
#ifdef SKYFIX_RELOCATABLE
    "make this folder with scripts/dist --gpu, in Skyfix's source tree";
#else
    "scripts/wheels install compile gpu";
#endif

std::string cuda_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

void look_at_machine(Findings& findings) {
  const MachineFacts machine = machine_facts();
  findings.push_back({"skyfix", std::string(version_text()), ""});
  findings.push_back({"system", machine.distribution, ""});
  findings.push_back(
      {"processor",
       fmt::format("{}, {} cores; matching by its {} instructions", machine.processor,
                   machine.cores, simd_name(best_simd())),
       best_simd() == Simd::scalar ? "matching is several times slower without AVX2" : ""});
  findings.push_back({"memory",
                      fmt::format("{}, {} available", format_byte_size(machine.memory_bytes),
                                  format_byte_size(machine.available_bytes)),
                      ""});
}

void look_at_libraries(Findings& findings) {
  findings.push_back({"LibTorch", std::string(torch_version()), ""});
  std::string names;
  for (const auto& path : loaded_libraries()) {
    const std::string name = path.filename().string();
    for (const char* wanted :
         {"libopencv_core", "libceres", "libfaiss", "libjpeg", "libpng", "libtiff", "libexif",
          "libexempi", "libGeographic", "libtorch_cpu"}) {
      if (name.rfind(wanted, 0) == 0) names += (names.empty() ? "" : ", ") + name;
    }
  }
  findings.push_back({"libraries", names, ""});
}

void look_at_video(Findings& findings) {
  const VideoLibrary& library = VideoLibrary::instance();
  if (library.loaded()) {
    findings.push_back({"video", library.versions(), ""});
  } else {
    findings.push_back({"video", "cannot be read: " + library.why_not(),
                        "photos and pipes (--input -) do without"});
  }
}

void look_at_cards(const CudaProbe& probe, Findings& findings) {
  findings.push_back(
      {"driver",
       fmt::format("NVIDIA {}, serves CUDA {}; built for CUDA {}",
                   probe.driver_version.empty() ? "(version unknown)" : probe.driver_version,
                   cuda_text(probe.driver_cuda), cuda_text(probe.runtime_cuda)),
       probe.problem});
  for (std::size_t i = 0; i < probe.cards.size(); ++i) {
    const CudaCard& card = probe.cards[i];
    findings.push_back(
        {fmt::format("GPU {}", i),
         fmt::format("{}, compute capability {}.{}, {}, {} free", card.name, card.compute_major,
                     card.compute_minor, format_byte_size(card.total_bytes),
                     card.free_bytes == 0 ? "unknown" : format_byte_size(card.free_bytes)),
         card.compute_major * 10 + card.compute_minor < 75
             ? "compute capability 7.5 or newer is needed: use --device cpu"
             : ""});
    const char* segments = card.virtual_memory
                               ? "expandable segments: on"
                               : "no virtual memory management: classic segments, a larger margin";
    findings.push_back({"", segments, ""});
    const Budget budget =
        resolve_budget({}, CardFacts{card.total_bytes, card.free_bytes, 0, card.virtual_memory});
    findings.push_back(
        {"", "--gpu-memory if not given: " + format_byte_size(budget.gpu_bytes), ""});
  }
}

void look_at_gpu(Findings& findings) {
  const CudaLibrary& library = CudaLibrary::instance();
  if (!library.loaded()) {
    const std::string complaint = cuda_library_complaint();
    findings.push_back({"GPU part", "not in use: " + library.why_not(),
                        "the CPU is used. With an NVIDIA card: install driver 580 or newer"});
    if (!complaint.empty() && complaint != library.why_not()) {
      findings.push_back({"", "it also lacks: " + complaint, kLibraryRemedy});
    }
    return;
  }
  const auto probe = probe_cuda();
  if (!probe) {
    findings.push_back(
        {"GPU part", library.path().string() + " is of another version of Skyfix", "build again"});
    return;
  }
  findings.push_back({"GPU part", library.path().string(), ""});
  look_at_cards(*probe, findings);
}

void look_at_settings(Findings& findings) {
  for (const char* name : {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"}) {
    if (const char* value = std::getenv(name)) {
      findings.push_back({"allocator", fmt::format("{}={} (yours, honoured)", name, value), ""});
    }
  }
}

int print(const Findings& findings, bool as_json, bool gpu_is_usable, bool needs_gpu) {
  if (as_json) {
    Json list = Json::array();
    for (const Finding& finding : findings) {
      list.push_back(
          {{"what", finding.what}, {"found", finding.found}, {"remedy", finding.remedy}});
    }
    std::puts(Json{{"gpu_usable", gpu_is_usable}, {"findings", list}}.dump(1).c_str());
  } else {
    for (const Finding& finding : findings) {
      std::printf("%-10s %s\n", finding.what.c_str(), finding.found.c_str());
      if (!finding.remedy.empty()) std::printf("%-10s -> %s\n", "", finding.remedy.c_str());
    }
    std::printf("\n%s\n", gpu_is_usable ? "A GPU can be used."
                                        : "No GPU can be used; all of Skyfix works on the CPU.");
  }
  return needs_gpu && !gpu_is_usable ? kExitCannotRun : kExitOk;
}

}  // namespace

void add_doctor(CLI::App& root, const Globals&, Commands& commands) {
  CLI::App* app = root.add_subcommand(
      "doctor", "What this machine offers: libraries, driver, GPU, and what to do if one lacks");
  auto as_json = std::make_shared<bool>(false);
  auto needs_gpu = std::make_shared<bool>(false);
  app->add_flag("--json", *as_json, "As JSON");
  app->add_flag("--require-gpu", *needs_gpu, "Exit status 2 unless a GPU can be used");
  commands.push_back({app, [as_json, needs_gpu] {
                        Findings findings;
                        look_at_machine(findings);
                        look_at_libraries(findings);
                        look_at_video(findings);
                        look_at_gpu(findings);
                        look_at_settings(findings);
                        return print(findings, *as_json, why_no_gpu().empty(), *needs_gpu);
                      }});
}

}  // namespace skyfix::cli
