/*
 * memo.h - what the cells of one study need again and again, found once.
 *
 * Drawing the lengths of a workload takes a good part of a short run, and the cells of a plan differ in their rate alone. Any
 * thread may use a memo; it never changes a result.
 */
#ifndef KVSIM_STUDY_MEMO_H
#define KVSIM_STUDY_MEMO_H

struct scenario;
struct study_memo;

struct study_memo *study_memo_open(void);
void study_memo_close(struct study_memo *memo);
/* scenario_complete(), from the memo where it is known there; `memo` may be NULL. */
void study_memo_complete(struct study_memo *memo, struct scenario *scenario);

#endif
