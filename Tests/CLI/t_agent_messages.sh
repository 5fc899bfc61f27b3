# The errors of commands about the agent that need no agent. Tests/Agent has the others.
title "a locker without the screen"
run lock -- true

title "a program that was installed without its agent"
mkdir "$WORK/tmp/bin"
cp "$TOKENKEEP" "$WORK/tmp/bin/tokenkeep"
TOKENKEEP=$WORK/tmp/bin/tokenkeep
run agent run
