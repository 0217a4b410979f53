#include "skyfix/cli/parse_errors.h"

#include <spdlog/fmt/fmt.h>

#include <regex>
#include <vector>

#include "skyfix/base/error.h"
#include "skyfix/base/text.h"

namespace skyfix::cli {
namespace {

// The innermost subcommand that the arguments named.
const CLI::App* innermost(const CLI::App* app) {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* child : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(child->get_name());
  }
  return names;
}

void collect_names(const CLI::App& app, std::vector<std::string>& names) {
  for (const std::string& name : command_names(app)) names.push_back(name);
  for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
}

// "a, b or c".
std::string alternatives(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  }
  return text;
}

// Arguments that nobody understands: the nearest names. Empty where there are none.
std::string explain_unknown(const CLI::App& root) {
  const std::vector<std::string> words = root.remaining(true);
  if (words.empty()) return "";
  const CLI::App* app = innermost(&root);
  std::vector<std::string> names;
  collect_names(*app, names);
  if (app != &root) collect_names(root, names);
  const std::string& word = words.front();
  std::string text = fmt::format("'{}' is not known to {}.", word, app->get_name());
  if (const auto near = nearest_name(word.substr(0, word.find('=')), names)) {
    text += fmt::format(" Did you mean '{}'?", *near);
  }
  return text;
}

const CLI::Option* find_option(const CLI::App* app, const std::string& name) {
  for (; app != nullptr; app = app->get_parent()) {
    if (const CLI::Option* option = app->get_option_no_throw(name)) return option;
  }
  return nullptr;
}

// What a value that could not be converted should have been.
std::string kind_of(const CLI::Option* option) {
  const std::string type = option == nullptr ? "" : option->get_type_name();
  if (type.rfind("INT", 0) == 0) return "a whole number";
  if (type.rfind("UINT", 0) == 0) return "a whole number of 0 or more";
  if (type.rfind("FLOAT", 0) == 0) return "a number";
  return "a value of the right kind";
}

// The library's texts (of versions 2.1 to 2.4) about one option, in ours; other texts stay.
std::string explain_value(const CLI::App* app, const std::string& text) {
  static const std::regex conversion("Could not convert: (\\S+) = ([\\s\\S]*)");
  static const std::regex range(
      "(\\S+): Value ([\\s\\S]*) not in range \\[?(\\S+) (?:to|-) ([^\\s\\]]+)\\]?");
  static const std::regex member("(\\S+): ([\\s\\S]*) not in \\{(.*)\\}");
  static const std::regex missing("(\\S+): .*required.* missing.*");
  std::smatch part;
  if (std::regex_match(text, part, conversion)) {
    return fmt::format("{}: '{}' is not {}.", part[1].str(), part[2].str(),
                       kind_of(find_option(app, part[1])));
  }
  if (std::regex_match(text, part, range)) {
    return fmt::format("{}: '{}' is not allowed; allowed is {} to {}.", part[1].str(),
                       part[2].str(), part[3].str(), part[4].str());
  }
  if (std::regex_match(text, part, member)) {
    return fmt::format("{}: '{}' is not allowed; allowed is {}.", part[1].str(), part[2].str(),
                       alternatives(CLI::detail::split(part[3].str(), ',')));
  }
  if (std::regex_match(text, part, missing)) {
    return fmt::format("{}: its value is missing.", part[1].str());
  }
  return text + '.';
}

std::string explain(const CLI::App& root, const CLI::ParseError& error) {
  if (const std::string unknown = explain_unknown(root); !unknown.empty()) return unknown;
  const CLI::App* app = innermost(&root);
  const std::vector<std::string> commands = command_names(*app);
  if (!commands.empty() && app->get_require_subcommand_min() > 0 &&
      dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    return fmt::format("a command is missing: {}.", alternatives(commands));
  }
  return explain_value(app, error.what());
}

}  // namespace

std::string parse_error_text(const CLI::App& root, const CLI::ParseError& error) {
  std::string path;
  for (const CLI::App* at = innermost(&root); at != nullptr; at = at->get_parent()) {
    path = at->get_name() + (path.empty() ? "" : " " + path);
  }
  return fmt::format("{}: {} See {} --help ({})", root.get_name(), explain(root, error), path,
                     reason_name(Reason::bad_option));
}

}  // namespace skyfix::cli
