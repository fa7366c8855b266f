// Ctrl-C while a person chats.
#pragma once

namespace gumbel::cli {

/// From here on Ctrl-C is counted instead of ending the program, and calls that wait for input are
/// interrupted by it.
void count_interrupts();

/// How often Ctrl-C was pressed since then.
int interrupts();

/// Counts one. Signal handlers may call it.
void note_interrupt();

}  // namespace gumbel::cli
