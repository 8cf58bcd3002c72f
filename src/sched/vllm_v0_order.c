/*
 * The order of vLLM V0's running list under chunked prefill: left over, swapped in, decodes, prompts, new ones.
 *
 * The engine builds the list anew in each step. Where everyone decodes, or prompts stand behind all decodes already, that
 * changes nothing; else all places are given anew, in time proportional to the list.
 */
#include "sched/vllm_v0_int.h"

// What everyone did: the front without a mark has decoded, whoever else has none was left over.
static enum sched_role role_of(const struct sched_seq *seq, const struct v0_turn *turn)
{
    if (seq->role_step == turn->plan->number) {
        return seq->role;
    }
    return seq->state == SCHED_FRONT ? SCHED_DECODE : SCHED_LEFT_OVER;
}

// Loose ones behind the front, decodes before prompts, nobody left over or swapped in.
static bool is_in_order(const struct sched *sched, const struct v0_turn *turn)
{
    if (turn->someone_is_left || turn->plan->swapped_in.count > 0) {
        return false;
    }
    enum sched_role role = SCHED_ROLE_COUNT;
    size_t seen = 0;
    for (const struct sched_seq *seq = sched->running.tail;
         seq != NULL && seq->state != SCHED_FRONT; seq = seq->prev) {
        if (role_of(seq, turn) > role) {
            return false;
        }
        role = role_of(seq, turn);
        seen++;
    }
    return seen == sched->loose.count;
}

static void append(struct sched_list *to, const struct sched_list *part)
{
    if (part->head == NULL) {
        return;
    }
    part->head->prev = to->tail;
    *(to->tail != NULL ? &to->tail->next : &to->head) = part->head;
    to->tail = part->tail;
    to->count += part->count;
}

void sched_v0_renumber(struct sched *sched)
{
    sched->loose.count = 0;
    for (struct sched_seq *seq = sched->running.head; seq != NULL; seq = seq->next) {
        seq->place = sched->next_place++;
        if (seq->state == SCHED_LOOSE) {
            base_vec_push(&sched->loose, seq);
        }
    }
}

void sched_v0_reorder(struct sched *sched, const struct v0_turn *turn)
{
    if (is_in_order(sched, turn)) {
        return;
    }
    struct sched_list parts[SCHED_ROLE_COUNT] = {{0}};
    for (struct sched_seq *seq = sched->running.head, *next; seq != NULL; seq = next) {
        next = seq->next;
        sched_list_push_back(&parts[role_of(seq, turn)], seq);
    }
    sched->running = (struct sched_list){0};
    for (size_t role = 0; role < SCHED_ROLE_COUNT; role++) {
        append(&sched->running, &parts[role]);
    }
    sched_v0_renumber(sched);
}
