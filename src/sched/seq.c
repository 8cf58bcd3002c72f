#include "sched/seq.h"

void sched_list_push_back(struct sched_list *list, struct sched_seq *seq)
{
    seq->prev = list->tail;
    seq->next = NULL;
    *(list->tail != NULL ? &list->tail->next : &list->head) = seq;
    list->tail = seq;
    list->count++;
}

void sched_list_push_front(struct sched_list *list, struct sched_seq *seq)
{
    seq->prev = NULL;
    seq->next = list->head;
    *(list->head != NULL ? &list->head->prev : &list->tail) = seq;
    list->head = seq;
    list->count++;
}

void sched_list_insert_before(struct sched_list *list, struct sched_seq *seq,
                              struct sched_seq *next)
{
    if (next == NULL) {
        sched_list_push_back(list, seq);
        return;
    }
    seq->prev = next->prev;
    seq->next = next;
    *(seq->prev != NULL ? &seq->prev->next : &list->head) = seq;
    next->prev = seq;
    list->count++;
}

void sched_list_remove(struct sched_list *list, struct sched_seq *seq)
{
    *(seq->prev != NULL ? &seq->prev->next : &list->head) = seq->next;
    *(seq->next != NULL ? &seq->next->prev : &list->tail) = seq->prev;
    seq->prev = seq->next = NULL;
    list->count--;
}
