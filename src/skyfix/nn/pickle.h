// The few of pickle's opcodes that files of tensors need, read into a tree of plain values. Nothing
// is looked up, called or built: what a pickle wants called becomes an object with a name, and who
// reads the tree decides which names are allowed.
//
// Format: Python's pickle protocol 2, as PyTorch writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skyfix {

struct PickleValue {
  enum class Kind {
    none,
    boolean,
    integer,
    real,
    text,
    tuple,
    list,
    dictionary,
    global,      // a name, not called
    object,      // a name called with arguments
    persistent,  // an id that the file's reader resolves: a storage
    opaque,      // an integer of more than 64 bits
  };
  Kind kind = Kind::none;
  bool seen = false;         // for walks over the tree, in which values may be shared
  std::int64_t integer = 0;  // and boolean
  double real = 0;
  std::string text;                 // of a text; "module.name" of a global or object
  std::vector<PickleValue*> items;  // of a tuple, list; key, value, key, ... of a dictionary;
                                    // the tuple of an object's arguments, then what was put
                                    // into it; the id of a persistent
  std::vector<PickleValue*> state;  // what BUILD gave it
};

class Pickle {
 public:
  // Reads the whole of `bytes`, at most `most_values` values. Throws Error(bad_weights) naming the
  // opcode that is not allowed, or what is wrong.
  Pickle(std::span<const std::byte> bytes, const std::string& file, std::size_t most_values);
  Pickle(const Pickle&) = delete;
  Pickle& operator=(const Pickle&) = delete;

  // What the file holds. Lives as long as this.
  PickleValue& top() const { return *top_; }

 private:
  friend class PickleReader;
  std::deque<PickleValue> values_;  // owns all: shared and cyclic values need no count
  PickleValue* top_ = nullptr;
};

// The value of a text key; null when the dictionary has none. Throws nothing.
PickleValue* pickle_entry(const PickleValue& dictionary, std::string_view key);

}  // namespace skyfix
