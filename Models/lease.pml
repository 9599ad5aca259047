/*
 * Leases with tokens (R30, G7; Decision 0009): owners that sleep, die, renew, and end their leases, while the rows of the ledger
 * move and are taken out.
 *
 * A list has PLACES positions; a row lies at a position, and may hold one lease. A transaction is one atomic step. An owner does two
 * things: it takes a lease, and it ends it, with success, failure or release, which are alike to this model. Between the two it may
 * sleep past the lease's end, renew its leases by name, or crash. A shift moves all rows by one position, or takes one out.
 *
 * Without FENCED an edit finds its row by position, and the row is in flight under whatever lease; with FENCED by token, wherever the
 * row is. The property `intact` says two things:
 *
 *   - A lease that counts is ended by its holder alone. Otherwise the page is granted again while its holder fetches it: two owners
 *     of one page (G7).
 *   - An edit is refused only if its lease was taken over, or its position was taken out. A shift alone loses no lease.
 *
 * Scripts/models checks it exhaustively, and fails as well when the protocol without tokens passes.
 */

#ifndef OWNERS
#define OWNERS 2
#endif
#define PLACES 3
#define NONE 0

#ifndef GRANTS
#define GRANTS 3
#endif

/* Rows by position: the token of the lease, NONE where the page is not in flight. */
byte row[PLACES];
/* By token: who was granted it, whether its time is over, and whether the row was taken out with its position. */
byte owner_of[GRANTS + 1];
bool over[GRANTS + 1];
bool dropped[GRANTS + 1];
/* The holder has ended it itself. */
bool ended[GRANTS + 1];
/* Granted to another while the holder had not ended it. */
bool taken[GRANTS + 1];
byte tokens = 0;

bool dead[OWNERS + 1];

/* Forbidden: another owner ended a lease that counts; an edit was refused although its lease was not lost. */
bool stolen = false;
bool refused = false;

byte shifts = 0;

inline find(token, place) {
    place = (row[0] == token -> 0 : (row[1] == token -> 1 : (row[2] == token -> 2 : PLACES)))
}

/* A lease counts until its end, while its owner lives: the kernel lock of a dead owner is gone. */
#define COUNTS(token) (token != NONE && !over[token] && !dead[owner_of[token]])

proctype Owner(byte me) {
    byte token = NONE;
    byte at = 0;
    byte place = 0;

    do
    :: token == NONE && tokens < GRANTS ->
        /* Claim one of the positions. */
        atomic {
            if
            :: at = 0
            :: at = 1
            :: at = PLACES - 1
            fi;
            if
            :: !COUNTS(row[at]) && tokens < GRANTS ->
                taken[row[at]] = true;
                tokens++;
                token = tokens;
                owner_of[token] = me;
                row[at] = token
            :: else -> skip
            fi
        }
    :: token != NONE ->
        if
        :: atomic {
            /* Success, failure or release. */
#ifdef FENCED
            find(token, place);
            if
            :: place < PLACES -> row[place] = NONE; ended[token] = true
            :: else ->
                /* Stale: nothing changes, and the owner learns it. */
                refused = refused || (!taken[token] && !dropped[token])
            fi;
#else
            stolen = stolen || (row[at] != token && COUNTS(row[at]));
            row[at] = NONE;
            ended[token] = true;
#endif
            place = 0;
            token = NONE
        }
        :: atomic {
            /* A heartbeat renews what the owner holds, by its name. */
#ifdef FENCED
            find(token, place);
            if
            :: place < PLACES -> over[token] = false
            :: else -> skip
            fi;
            place = 0
#else
            over[row[at]] = false
#endif
        }
        :: atomic {
            /* It crashes: what it holds stays in the rows. */
            dead[me] = true
        }
        -> goto crashed
        fi
    :: token == NONE && tokens == GRANTS -> break
    od;
crashed:
    skip
}

/* Time: a lease may end at any moment that its owner does not renew it in. */
active proctype Clock() {
    byte k = 1;
    do
    :: k <= GRANTS ->
        if
        :: atomic { k <= tokens && !ended[k] -> over[k] = true; k++ }
        :: k++
        fi
    :: k > GRANTS -> break
    od
}

/* Another owner's commit moves the rows: an item came in before them, or a position was taken out (R4). */
active proctype Shift() {
    do
    :: shifts < 1 -> atomic {
        shifts++;
        if
        :: true ->
            /* One in before position 1: the last row leaves the list with its position. */
            dropped[row[2]] = true;
            row[2] = row[1];
            row[1] = NONE
        :: true ->
            /* Position 1 is taken out. */
            dropped[row[1]] = true;
            row[1] = row[2];
            row[2] = NONE
        fi
    }
    :: shifts == 1 -> break
    od
}

init {
    atomic {
        byte i = 1;
        do
        :: i <= OWNERS -> run Owner(i); i++
        :: else -> break
        od
    }
}

ltl intact { [] (!stolen && !refused) }
