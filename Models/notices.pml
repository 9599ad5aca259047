/*
 * Notices (R41; Decision 0020): a replica that commits and then announces, a replica that listens, and a connection that breaks.
 *
 * A notice is a mark without content: it says that the listener has to read. It reaches the listener only while the listener's
 * connection listens. One task announces after the commits, so that one notice stands for several of them. A replica may die between
 * a commit and its notice, and the notice itself may be lost; the listener therefore also compares the version now and then.
 *
 * The property `caught_up`: from some moment on the listener has the newest version. It holds under weak fairness.
 *
 * Controls, each of which must fail:
 *
 *   READ_FIRST      the listener reads before it listens
 *   ANNOUNCE_FIRST  the notice is sent before the commit
 *   NEVER_COMPARED  the listener relies on notices alone
 */

#define COMMITS 2

byte version = 0;
byte seen = 0;

bool listens = false;
bool notice = false;
bool due = false;
byte breaks = 0;
bool writer_dead = false;

#define SEND if :: listens -> notice = true :: else -> skip fi

active proctype Writer() {
    do
#ifdef ANNOUNCE_FIRST
    :: version < COMMITS && !writer_dead ->
        atomic { SEND };
        version++
#else
    :: atomic { version < COMMITS && !writer_dead -> version++; due = true }
#endif
#ifndef ANNOUNCE_FIRST
#ifndef READ_FIRST
    /* Controls for the order of steps leave deaths out, so that nothing else can make them fail. */
    :: atomic { !writer_dead && version > 0 -> writer_dead = true; due = false }
#endif
#endif
    :: version == COMMITS || writer_dead -> break
    od
}

active proctype Announcer() {
    do
    :: atomic { due && !writer_dead -> due = false; SEND }
    :: (version == COMMITS && !due) || writer_dead -> break
    od
}

active proctype Listener() {
    byte read;
    do
    :: !listens ->
#ifdef READ_FIRST
        read = version;
        seen = read;
        atomic { listens = true; notice = false }
#else
        atomic { listens = true; notice = false };
        read = version;
        seen = read
#endif
    :: atomic { listens && notice -> notice = false };
        read = version;
        seen = read
    od
}

#if !defined(NEVER_COMPARED) && !defined(READ_FIRST) && !defined(ANNOUNCE_FIRST)
/* The slow comparison of the listener. */
active proctype Comparison() {
    do
    :: atomic { seen != version -> seen = version }
    od
}
#endif

active proctype Network() {
    do
    :: atomic { listens && breaks < 1 -> breaks++; listens = false; notice = false }
    /* It may also stay as it is for ever. */
    :: true -> skip
    od
}

ltl caught_up { <> [] (seen == version) }
