/*
 * Leases of a fleet (R30, G7; Decision 0020): replicas that sleep, die and renew their heartbeat, and a server that loses
 * the newest transactions in a crash or a failover.
 *
 * A page's row holds a token. A lease counts until its end, while its owner's row of `owner` has not passed; both are judged by the
 * server's clock. A transaction is one atomic step. The server flushes at any moment; a crash brings back what was flushed last,
 * the sequence of the tokens included, as with synchronous_commit off, or with a standby that was behind.
 *
 * The property `intact` says two things:
 *
 *   - No edit ends a lease of another grant while that lease counts.
 *   - No page is granted while a lease on it counts.
 *
 * Controls, each of which must fail:
 *
 *   UNFENCED        an edit finds its row by page, not by token
 *   REPEATED        a token is the number of the sequence alone, which a crash gives again
 *   CALLERS_CLOCK   a replica judges the end of a lease by a clock of its own
 *
 * With TRACE the model makes no choice of its own. It takes the steps of a real run from events.h (Scripts/trace), and a step that
 * the model does not permit fails an assertion.
 */

#define NONE 0

#ifndef PAGES
#define PAGES 2
#endif
#define REPLICAS 2
#ifndef GRANTS
#define GRANTS 3
#endif

/* A page's row at the server: the grant that its token stands for, what the token says, its holder, and whether its end has passed.
 * Grants are numbered without a repetition. */
typedef Row {
    int grant;
    int number;
    byte holder;
    bool over
}

Row row[PAGES];
#ifndef TRACE
Row flushed[PAGES];
#endif
int grants = 0;
int sequence = 0;
int flushed_sequence = 0;
/* Whether a replica's heartbeat has expired. */
bool passed[REPLICAS + 1];

byte crashes = 0;
bool stolen = false;
bool early = false;

#define COUNTS(page) (row[page].grant != NONE && !row[page].over && !passed[row[page].holder])

#ifdef UNFENCED
#define FOUND(page, mine, said) (row[page].grant != NONE)
#else
#ifdef REPEATED
#define FOUND(page, mine, said) (row[page].grant != NONE && row[page].number == said)
#else
/* A token's random part makes equal tokens of two grants impossible. */
#define FOUND(page, mine, said) (row[page].grant != NONE && row[page].grant == mine)
#endif
#endif

#ifdef CALLERS_CLOCK
#define FREE(page) (true)
#else
#define FREE(page) (!COUNTS(page))
#endif

/* A claim, which renews the heartbeat in the same transaction. */
inline take(p, who, grant_, number_) {
    early = early || COUNTS(p);
    sequence++;
    passed[who] = false;
    row[p].grant = grant_;
    row[p].number = number_;
    row[p].holder = who;
    row[p].over = false
}

/* The end of a lease, with success, failure or release. */
inline finish(p, grant_) {
    stolen = stolen || (row[p].grant != grant_ && COUNTS(p));
    row[p].grant = NONE;
    row[p].number = NONE;
    row[p].holder = NONE;
    row[p].over = false
}

#ifdef TRACE
c_decl {
\#include "events.h"
}
int step = 0;
int kind;
int at;
int token;

active proctype Run() {
    do
    :: step < STEPS ->
        d_step {
            c_code {
                now.kind = events[now.step].kind;
                now.at = events[now.step].page;
                now.token = events[now.step].grant;
            };
            if
            :: kind == 1 ->
                /* A grant. Heartbeats are part of the events "over". */
                assert(FREE(at));
                take(at, 1, token, token)
            :: kind == 2 ->
                /* An end, by the holder of this grant. */
                assert(FOUND(at, token, token));
                finish(at, token)
            :: kind == 3 ->
                /* A renewal. */
                assert(FOUND(at, token, token));
                row[at].over = false
            :: kind == 4 ->
                /* The lease's end has passed, or its holder's heartbeat has expired. */
                row[at].over = true
            fi;
            step++
        }
    :: step >= STEPS -> break
    od;
    assert(!stolen && !early)
}
#else
proctype Replica(byte me) {
    byte mine = NONE;
    byte said = NONE;
    byte page = 0;

    do
    :: atomic { mine == NONE && grants < GRANTS ->
        if
        :: page = 0
        :: page = 1
        fi;
        if
        :: FREE(page) ->
            grants++;
            mine = grants;
            said = sequence + 1;
            take(page, me, mine, said)
        :: else -> skip
        fi
    }
    :: atomic { mine != NONE ->
        /* Without its row the holder learns that it lost the page. */
        if
        :: FOUND(page, mine, said) -> finish(page, mine)
        :: else -> skip
        fi;
        mine = NONE;
        said = NONE
    }
    :: atomic { mine != NONE && FOUND(page, mine, said) && row[page].over -> row[page].over = false }
    :: atomic { passed[me] -> passed[me] = false }
    :: grants == GRANTS -> break
    od
    /* It ends, or it dies: what it holds stays in the rows. */
}

/* Time: an end passes, or a heartbeat expires, at any moment. */
active proctype Clock() {
    byte ends = 0;
    byte passes = 0;
    do
    :: atomic { ends < 2 && row[0].grant != NONE -> row[0].over = true; ends++ }
    :: atomic { ends < 2 && row[1].grant != NONE -> row[1].over = true; ends++ }
    :: atomic { passes < 1 -> passed[1] = true; passes++ }
    :: ends == 2 -> break
    od
}

inline copy(to, from) {
    to.grant = from.grant;
    to.number = from.number;
    to.holder = from.holder;
    to.over = from.over
}

active proctype Server() {
    do
    :: atomic {
        copy(flushed[0], row[0]);
        copy(flushed[1], row[1]);
        flushed_sequence = sequence
    }
    :: atomic { crashes < 1 ->
        crashes++;
        copy(row[0], flushed[0]);
        copy(row[1], flushed[1]);
        sequence = flushed_sequence
    }
    :: crashes == 1 -> break
    od
}

init {
    atomic {
        run Replica(1);
        run Replica(2)
    }
}

ltl intact { [] (!stolen && !early) }
#endif
