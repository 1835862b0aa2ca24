// EmulatedTiles.h - functions that replace the instructions on tile registers of AMX, for code of
// the target "cpu:amx_bf16_emulated".
#pragma once
#include <cstdint>

// Each function works on the registers of its thread. An operation that a processor would refuse
// ends the process, with a message. Source: Intel 64 and IA-32 Architectures Software Developer's
// Manual, volume 2, the instructions of these names.
extern "C" {
void logitile_ldtilecfg(const void *configuration);
void logitile_tilerelease();
void logitile_tilezero(uint8_t tile);
void logitile_tileloadd64(uint8_t tile, const void *from, int64_t rowBytes);
void logitile_tilestored64(uint8_t tile, void *to, int64_t rowBytes);
void logitile_tdpbf16ps(uint8_t sum, uint8_t left, uint8_t right);
}
