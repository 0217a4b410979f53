#include "skyfix/nn/pickle.h"

#include <bit>
#include <unordered_map>

#include "skyfix/nn/byte_cursor.h"

namespace skyfix {

namespace {

// Python's names of the opcodes.
enum Opcode : std::uint8_t {
  kMark = '(',
  kStop = '.',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersId = 'Q',
  kReduce = 'R',
  kBinUnicode = 'X',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyTuple = ')',
  kEmptyList = ']',
  kEmptyDict = '}',
  kProto = 0x80,
  kNewObj = 0x81,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kShortBinUnicode = 0x8c,
};

constexpr int kNewestProtocol = 2;
constexpr std::string_view kOrderedDictionary = "collections.OrderedDict";

}  // namespace

using Kind = PickleValue::Kind;
using Values = std::vector<PickleValue*>;

// Pickle's stack machine. Each opcode makes at most one value and moves others, so memory grows
// with the file's size only.
class PickleReader {
 public:
  PickleReader(Pickle& pickle, std::span<const std::byte> bytes, const std::string& file,
               std::size_t most_values)
      : values_(pickle.values_), cursor_(bytes, "the pickle", file), most_values_(most_values) {}

  PickleValue* read() {
    for (;;) {
      const auto opcode = cursor_.read<std::uint8_t>();
      if (opcode == kStop) break;
      if (!scalar(opcode) && !memo(opcode) && !container(opcode) && !call(opcode)) {
        cursor_.fail("uses the opcode " + std::to_string(opcode) +
                     ", which files of tensors do not need; it was not read further");
      }
    }
    if (stack_.size() != 1 || !marks_.empty()) cursor_.fail("does not end with one value");
    if (cursor_.left() != 0) cursor_.fail("goes on behind its end");
    return stack_.back();
  }

 private:
  PickleValue& make(Kind kind) {
    if (values_.size() >= most_values_) cursor_.fail("holds more values than are allowed");
    PickleValue& value = values_.emplace_back();
    value.kind = kind;
    return value;
  }
  PickleValue& push(Kind kind) {
    PickleValue& value = make(kind);
    push_known(&value);
    return value;
  }
  void push_known(PickleValue* value) {
    if (stack_.size() >= most_values_) cursor_.fail("holds more values than are allowed");
    stack_.push_back(value);
  }
  void push_integer(std::int64_t number) { push(Kind::integer).integer = number; }
  void push_boolean(bool truth) { push(Kind::boolean).integer = truth; }

  PickleValue* pop() {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= floor) cursor_.fail("takes a value that is not there");
    PickleValue* value = stack_.back();
    stack_.pop_back();
    return value;
  }
  PickleValue& top() {
    PickleValue* value = pop();
    stack_.push_back(value);
    return *value;
  }
  // The last `count` values, or those since the last mark.
  Values pop_last(std::size_t count) {
    Values taken(count);
    for (std::size_t i = count; i-- > 0;) taken[i] = pop();
    return taken;
  }
  Values pop_to_mark() {
    if (marks_.empty()) cursor_.fail("takes a mark that is not there");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    Values taken(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return taken;
  }

  bool scalar(std::uint8_t opcode) {
    switch (opcode) {
      case kProto:
        if (cursor_.read<std::uint8_t>() > kNewestProtocol) {
          cursor_.fail("has a newer protocol than PyTorch writes");
        }
        return true;
      case kNone:
        push(Kind::none);
        return true;
      case kNewTrue:
      case kNewFalse:
        push_boolean(opcode == kNewTrue);
        return true;
      case kBinInt:
        push_integer(cursor_.read<std::int32_t>());
        return true;
      case kBinInt1:
        push_integer(cursor_.read<std::uint8_t>());
        return true;
      case kBinInt2:
        push_integer(cursor_.read<std::uint16_t>());
        return true;
      case kLong1:
        read_long(cursor_.take(cursor_.read<std::uint8_t>()));
        return true;
      case kBinFloat:  // big-endian
        push(Kind::real).real =
            std::bit_cast<double>(__builtin_bswap64(cursor_.read<std::uint64_t>()));
        return true;
      case kBinUnicode:
        return text(cursor_.take_text(cursor_.read<std::uint32_t>()));
      case kShortBinUnicode:
        return text(cursor_.take_text(cursor_.read<std::uint8_t>()));
      default:
        return false;
    }
  }

  bool text(std::string_view content) {
    push(Kind::text).text = content;
    return true;
  }

  // Little-endian two's complement of any length.
  void read_long(std::span<const std::byte> bytes) {
    if (bytes.size() > sizeof(std::int64_t)) {
      push(Kind::opaque);
      return;
    }
    const bool negative = !bytes.empty() && (bytes.back() & std::byte{0x80}) != std::byte{0};
    std::uint64_t number = negative ? ~std::uint64_t{0} : 0;
    std::memcpy(&number, bytes.data(), bytes.size());
    push_integer(static_cast<std::int64_t>(number));
  }

  bool memo(std::uint8_t opcode) {
    switch (opcode) {
      case kBinPut:
        return remember(cursor_.read<std::uint8_t>());
      case kLongBinPut:
        return remember(cursor_.read<std::uint32_t>());
      case kBinGet:
        return recall(cursor_.read<std::uint8_t>());
      case kLongBinGet:
        return recall(cursor_.read<std::uint32_t>());
      default:
        return false;
    }
  }

  bool remember(std::uint32_t index) {
    if (memo_.size() >= most_values_) cursor_.fail("holds more values than are allowed");
    memo_[index] = &top();
    return true;
  }

  bool recall(std::uint32_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) cursor_.fail("recalls a value that is not there");
    push_known(found->second);
    return true;
  }

  bool container(std::uint8_t opcode) {
    switch (opcode) {
      case kMark:
        if (marks_.size() >= most_values_) cursor_.fail("holds more values than are allowed");
        marks_.push_back(stack_.size());
        return true;
      case kEmptyDict:
        push(Kind::dictionary);
        return true;
      case kEmptyList:
        push(Kind::list);
        return true;
      case kEmptyTuple:
        push(Kind::tuple);
        return true;
      case kTuple:
        return tuple(pop_to_mark());
      case kTuple1:
      case kTuple2:
      case kTuple3:
        return tuple(pop_last(opcode - kTuple1 + 1));
      case kAppend:
        return put_into(Kind::list, pop_last(1));
      case kAppends:
        return put_into(Kind::list, pop_to_mark());
      case kSetItem:
        return put_into(Kind::dictionary, pop_last(2));
      case kSetItems:
        return put_into(Kind::dictionary, pop_to_mark());
      default:
        return false;
    }
  }

  bool tuple(Values items) {
    push(Kind::tuple).items = std::move(items);
    return true;
  }

  bool put_into(Kind kind, const Values& items) {
    PickleValue& target = top();
    if (target.kind != kind && target.kind != Kind::object) {
      cursor_.fail("puts items into something that takes none");
    }
    if (kind == Kind::dictionary && items.size() % 2 != 0) {
      cursor_.fail("gives a dictionary a key without a value");
    }
    target.items.insert(target.items.end(), items.begin(), items.end());
    return true;
  }

  bool call(std::uint8_t opcode) {
    switch (opcode) {
      case kGlobal: {
        const std::string module(cursor_.take_line());
        push(Kind::global).text = module + "." + std::string(cursor_.take_line());
        return true;
      }
      case kReduce:
      case kNewObj:
        return call_global();
      case kBuild: {
        PickleValue* state = pop();
        top().state.push_back(state);
        return true;
      }
      case kBinPersId: {
        PickleValue* id = pop();
        push(Kind::persistent).items = {id};
        return true;
      }
      default:
        return false;
    }
  }

  bool call_global() {
    PickleValue* arguments = pop();
    PickleValue* called = pop();
    if (called->kind != Kind::global || arguments->kind != Kind::tuple) {
      cursor_.fail("calls something that has no name");
    }
    if (called->text == kOrderedDictionary && arguments->items.empty()) {
      push(Kind::dictionary);
      return true;
    }
    PickleValue& object = push(Kind::object);
    object.text = called->text;
    object.items = {arguments};
    return true;
  }

  std::deque<PickleValue>& values_;
  ByteCursor cursor_;
  std::size_t most_values_;
  Values stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint32_t, PickleValue*> memo_;
};

Pickle::Pickle(std::span<const std::byte> bytes, const std::string& file, std::size_t most_values) {
  top_ = PickleReader(*this, bytes, file, most_values).read();
}

PickleValue* pickle_entry(const PickleValue& dictionary, std::string_view key) {
  for (std::size_t i = 0; i + 1 < dictionary.items.size(); i += 2) {
    const PickleValue& name = *dictionary.items[i];
    if (name.kind == Kind::text && name.text == key) return dictionary.items[i + 1];
  }
  return nullptr;
}

}  // namespace skyfix
