vault() { "$TOKENKEEP" "$@"; }
title "a password is typed twice"
on_terminal 'expect:new password of the vault: ' echo 'send:one\n' 'expect:once more: ' 'send:other\n' -- "$TOKENKEEP" password set
on_terminal 'expect:new password of the vault: ' 'send:one\n' 'expect:once more: ' 'send:one\n' -- "$TOKENKEEP" password set
printf secret | run save example.com ann
printf secret | run lock

title "a locked vault asks where it may"
run load example.com ann --interactive
on_terminal 'expect:password of the vault, for example.com (ann): ' echo 'send:wrong\n' 'expect:password of the vault, for example.com (ann): ' 'send:one\n' -- "$TOKENKEEP" load example.com ann --interactive
run load example.com ann
run lock
on_terminal 'expect:(ann): ' 'send:x\n' 'expect:(ann): ' 'send:y\n' 'expect:(ann): ' 'send:z\n' -- "$TOKENKEEP" load example.com ann --interactive
on_terminal 'expect:(ann): ' 'send:\x04' -- "$TOKENKEEP" load example.com ann --interactive

title "an item that asks at each use"
on_terminal 'expect:password of the vault: ' 'send:one\n' -- "$TOKENKEEP" unlock
printf 'asked' | run save example.com asks --user-presence
on_terminal 'expect:secret for example.com (asks): ' 'send:asked\n' 'expect:(asks): ' 'send:one\n' -- "$TOKENKEEP" save example.com asks --user-presence --interactive
run load example.com asks
on_terminal 'expect:(asks): ' 'send:one\n' -- "$TOKENKEEP" load example.com asks --interactive
run load example.com asks
run lock
