# Passwords in files and lines as editors and shells of other systems write them.
printf kept | run save example.com ann
mkdir lines && chmod 700 lines
file() { printf "$2" >"lines/$1"; chmod 600 "lines/$1"; }
file lf 'horse\n'
file bare 'horse'
file crlf 'horse\r\n'
file cr 'horse\r'
file bom '\357\273\277horse\r\n'
file mac 'horse\rbattery\n'
file wide '\377\376h\000o\000r\000s\000e\000'

title "a line end and a byte order mark are no part of the password"
run password set --password-file lines/crlf
for name in lf bare crlf cr bom; do
    run lock
    run unlock --password-file "lines/$name"
done
printf 'horse\r\n' | run unlock --stdin
printf '\357\273\277horse\r\nbattery\r\n' | run password change --stdin
printf 'battery\n' | run unlock --stdin

title "what no keyboard types"
run unlock --password-file lines/mac
run unlock --password-file lines/wide
printf '\376\377\000h' | run unlock --stdin
printf 'a\rb\n' | run unlock --stdin

title "what a file does not show belongs to the password, and is said"
printf 'battery\nstaple \n' | run password change --stdin
printf 'staple \nsta\tple\177\n' | run password change --stdin
