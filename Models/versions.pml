/*
 * Versions with stamps (R51; Decisions 0012 and 0020): a server that loses its newest commits, and a reader that keeps what it read
 * together with its version: an answer with an entity tag, a position in the journal, a list in memory.
 *
 * A commit counts up and gets a random stamp. A crash or a failover brings back what was flushed last, so that the counter comes
 * again with other content. The reader compares its version with the server's, and keeps its content where they are equal.
 *
 * The property `true_content`: content that the reader takes for current is the server's.
 *
 * The control, COUNTER_ONLY, compares the counters alone. It must fail.
 */

#ifndef COMMITS
#define COMMITS 6
#endif
#define CRASHES 2

/* Content is the number of the commit that made it, which no other commit has; the stamp is as good as that number. */
byte counter = 0;
byte content = 0;
byte flushed_counter = 0;
byte flushed_content = 0;
byte commits = 0;
byte crashes = 0;

bool wrong = false;

#ifdef COUNTER_ONLY
#define CURRENT(kept_counter, kept_stamp) (kept_counter == counter)
#else
#define CURRENT(kept_counter, kept_stamp) (kept_counter == counter && kept_stamp == content)
#endif

active [2] proctype Writer() {
    do
    :: atomic { commits < COMMITS -> commits++; counter++; content = commits }
    :: commits == COMMITS -> break
    od
}

active proctype Server() {
    do
    :: atomic { flushed_counter = counter; flushed_content = content }
    :: atomic { crashes < CRASHES -> crashes++; counter = flushed_counter; content = flushed_content }
    :: crashes == CRASHES -> break
    od
}

active proctype Reader() {
    byte kept_counter = 0;
    byte kept = 0;
    do
    :: atomic {
        if
        :: CURRENT(kept_counter, kept) -> wrong = wrong || kept != content
        :: else -> kept_counter = counter; kept = content
        fi
    }
    :: commits == COMMITS -> break
    od
}

ltl true_content { [] !wrong }
