python3 - <<E
open('x','w')
E
find . -name '*.o' -delete; git reset --hard HEAD~1