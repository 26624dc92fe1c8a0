# Runs one snippet after the other in this shell. A snippet comes as three parts on descriptor 223, each ended by NUL: its
# length, its text, a word. When it is done, the word goes back on 224 with its exit code. While it runs it has neither
# descriptor, and the word is still in the pipe.
#
# The snippet is evaluated in a file that is read by `.`, because an interrupt can leave such a file (`return`) and nothing
# else that keeps variables. A function cannot be left that way without going on after it, so there the shell ends.
trap '' INT
printf 'ready\0' >&224
while IFS= builtin read -r -d '' -u 223 _haft_length && IFS= builtin read -r -d '' -u 223 _haft_code; do
  builtin trap '((${#FUNCNAME[@]} > 1)) && builtin exit 130; builtin return 130' INT
  builtin . /dev/fd/222 222<<<'exec 222<&-; builtin eval "${_haft_trace:+set -x;}$_haft_code"' 223<&- 224>&-
  {
    _haft_status=$? _haft_trace=${-//[!x]/}
    builtin set +x
    builtin trap '' INT
    IFS= builtin read -r -d '' -u 223 _haft_word
    builtin printf '%s\0%s\0' "$_haft_word" "$_haft_status" >&224
  } 2>/dev/null
done
