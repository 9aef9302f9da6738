#include "backends/dtu/codegen/emission/StreamBuilder.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::dtu;

// ---- Expr -------------------------------------------------------------------------

Expr &Expr::operator+=(const Expr &other) {
  constant += other.constant;
  for (const hw::Affine::Term &term : other.terms) {
    auto *it = llvm::find_if(terms, [&](const auto &mine) { return mine.reg >= term.reg; });
    if (it == terms.end() || it->reg != term.reg)
      terms.insert(it, term);
    else if ((it->coefficient += term.coefficient) == 0)
      terms.erase(it);
  }
  return *this;
}

Expr &Expr::operator*=(int64_t factor) {
  constant *= factor;
  if (factor == 0)
    terms.clear();
  for (hw::Affine::Term &term : terms)
    term.coefficient *= factor;
  return *this;
}

// ---- StreamBuilder ------------------------------------------------------------------

uint8_t StreamBuilder::takeRegister() {
  if (nextRegister >= hw::kNumRegisters) {
    outOfRegisters = true;
    return hw::kNumRegisters - 1;
  }
  return nextRegister++;
}

void StreamBuilder::loop(const Expr &start, const Expr &limit, int64_t step,
                         llvm::function_ref<void(Expr)> body) {
  Scope scope(*this);
  if (start.isConstant() && limit.isConstant()) {
    if (start.getConstant() >= limit.getConstant())
      return;
    if (start.getConstant() + step >= limit.getConstant())
      return body(start);
  }
  hw::Loop loop;
  loop.reg = takeRegister();
  loop.start = start.toAffine();
  loop.limit = limit.toAffine();
  loop.step = step;
  emit(loop);
  body(Expr::reg(loop.reg));
  emit(hw::EndLoop());
}

void StreamBuilder::when(const Expr &value, const Expr &limit,
                         llvm::function_ref<void(Expr)> body) {
  // A loop whose step exceeds any limit runs at most once, with the counter at `value`.
  loop(value, limit, int64_t(1) << 40, body);
}

Expr StreamBuilder::index(const Expr &value, int64_t divide, int64_t modulo, int64_t multiply) {
  if (modulo == 1 || multiply == 0)
    return 0;
  if (value.isConstant()) {
    int64_t result = value.getConstant() / divide;
    return (modulo ? result % modulo : result) * multiply;
  }
  if (divide == 1 && modulo == 0)
    return value * multiply;
  hw::Index instruction;
  instruction.dst = takeRegister();
  instruction.value = value.toAffine();
  instruction.divide = divide;
  instruction.modulo = modulo;
  instruction.multiply = multiply;
  emit(instruction);
  return Expr::reg(instruction.dst);
}

static hw::Index assign(uint8_t reg, const Expr &value) {
  hw::Index instruction;
  instruction.dst = reg;
  instruction.value = value.toAffine();
  return instruction;
}

Expr StreamBuilder::clamp(const Expr &value, const Expr &minimum, const Expr &maximum) {
  if (value.isConstant() && minimum.isConstant() && maximum.isConstant())
    return std::clamp(value.getConstant(), minimum.getConstant(), maximum.getConstant());
  const uint8_t reg = takeRegister();
  emit(assign(reg, minimum));
  when(minimum, value, [&](Expr) { emit(assign(reg, value)); });
  when(maximum, Expr::reg(reg), [&](Expr) { emit(assign(reg, maximum)); });
  return Expr::reg(reg);
}

Expr StreamBuilder::clampedQuotient(const Expr &value, int64_t maximum, int64_t divide) {
  const Expr clamped = clamp(value, 0, maximum);
  if (clamped.isConstant() || divide == 1)
    return index(clamped, divide);
  hw::Index instruction = assign(clamped.getSingleRegister(), clamped);
  instruction.divide = divide;
  emit(instruction);
  return clamped;
}

Expr StreamBuilder::counter() {
  const uint8_t reg = takeRegister();
  emit(assign(reg, 0));
  return Expr::reg(reg);
}

void StreamBuilder::count(const Expr &counter) {
  emit(assign(counter.getSingleRegister(), counter + 1));
}

Expr StreamBuilder::materialize(const Expr &value) {
  if (value.isConstant() || (value.getSingleRegister() != hw::kZero && value.getConstant() == 0))
    return value;
  return Expr::reg(toRegister(value));
}

uint8_t StreamBuilder::toRegister(const Expr &value) {
  if (uint8_t reg = value.getSingleRegister(); reg != hw::kZero && value.getConstant() == 0)
    return reg;
  hw::Index instruction;
  instruction.dst = takeRegister();
  instruction.value = value.toAffine();
  emit(instruction);
  return instruction.dst;
}

Expr StreamBuilder::table(const Expr &entry) {
  hw::Table instruction;
  instruction.dst = takeRegister();
  instruction.index = entry.toAffine();
  emit(instruction);
  return Expr::reg(instruction.dst);
}

Expr StreamBuilder::load(hw::Address address, hw::DType type) {
  hw::Load instruction;
  instruction.dst = takeRegister();
  instruction.address = std::move(address);
  instruction.type = type;
  emit(instruction);
  return Expr::reg(instruction.dst);
}

void StreamBuilder::leaveUnless(const Expr &value) {
  hw::Leave instruction;
  instruction.unless = toRegister(value);
  emit(instruction);
}

hw::Extent StreamBuilder::extent(int64_t tile, const Expr &position, int64_t limit, bool exact) {
  if (exact)
    return {tile, hw::kZero, 0};
  if (position.isConstant())
    return {std::clamp<int64_t>(limit - position.getConstant(), 0, tile), hw::kZero, 0};
  uint8_t reg = position.getSingleRegister();
  if (reg != hw::kZero)
    return {tile, reg, limit - position.getConstant()};
  return {tile, toRegister(position), limit};
}

void StreamBuilder::wait(const Expr &semaphore, int64_t count) {
  emit(hw::Wait{semaphore.toAffine(), count});
}
void StreamBuilder::signal(const Expr &semaphore, int64_t count) {
  emit(hw::Signal{semaphore.toAffine(), count});
}
void StreamBuilder::barrier(int64_t id, int64_t participants) {
  emit(hw::Barrier{id, participants});
}

void StreamBuilder::label(llvm::StringRef name) {
  int64_t position = stream.instructions.size();
  if (!stream.labelStarts.empty() && stream.labelStarts.back().first == position)
    stream.labelStarts.pop_back();
  auto known = llvm::find(stream.labels, name);
  stream.labelStarts.push_back({position, known - stream.labels.begin()});
  if (known == stream.labels.end())
    stream.labels.push_back(name.str());
}

// ---- ProgramBuilder -------------------------------------------------------------------

ProgramBuilder::ProgramBuilder(llvm::StringRef name, const Machine &machine)
    : machine(machine), core(hw::Engine::Core, machine.workers),
      dte(hw::Engine::Dte, machine.workers), tx(hw::Engine::Tx, 1), rx(hw::Engine::Rx, 1),
      loader(hw::Engine::Dte, 1, /*first=*/machine.workers),
      host(hw::Engine::Dte, 1, /*first=*/machine.workers + 1) {
  program.name = name.str();
}

void ProgramBuilder::label(llvm::StringRef name) {
  for (StreamBuilder *stream : {&core, &dte, &tx, &rx, &loader, &host})
    stream->label(name);
}

bool ProgramBuilder::registersSufficed() const {
  return core.registersSufficed() && dte.registersSufficed() && tx.registersSufficed() &&
         rx.registersSufficed() && loader.registersSufficed() && host.registersSufficed();
}

hw::Program ProgramBuilder::take() {
  program.semaphores = semaphoreBase(Sem::Count);
  if (!host.empty())
    program.semaphores += static_cast<int64_t>(HostSem::Count);
  program.barriers = 1;
  for (StreamBuilder *stream : {&dte, &core, &tx, &rx, &loader, &host})
    if (!stream->empty())
      program.streams.push_back(stream->take());
  return std::move(program);
}
