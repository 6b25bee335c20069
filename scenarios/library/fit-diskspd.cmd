@echo off
rem What fitting a device needs, measured with DiskSpd 2.1 or later on Windows: the same as fit.fio.
rem
rem     fit-diskspd.cmd D:\fit.tmp 100G 30 20000
rem
rem THIS OVERWRITES the file that is its first argument: it is created with that size and written to. It must be a file that is not
rem there yet; there is no default, and drives (such as #1 or E:) are refused. The file is left there.
rem
rem 1 TARGET  a file on the volume to be measured
rem 2 SIZE    how much of it is used: more than the caches of controller and drive hold, and as much as the database will fill
rem 3 SECONDS of each run; 30 or more for flash, 60 or more for disks
rem 4 RATE    reads a second of the open-loop run: about half of what fit-r8k-d32 reaches (begin with a guess, repeat that run)
rem
rem Results are fit-*.xml in the current folder. Nothing else may use the volume. Preconditioning takes 20 times SECONDS for each of its
rem two runs: make it longer for a large SIZE, so that flash has been written at least twice.
setlocal
if "%~4"=="" echo usage: %~nx0 TARGET SIZE SECONDS RATE & exit /b 2
set TARGET=%~1
if "%TARGET:~0,1%"=="#" echo %TARGET% is a drive; give a file & exit /b 2
if "%TARGET:~-1%"==":" echo %TARGET% is a drive; give a file & exit /b 2
if exist "%TARGET%" echo %TARGET% is already there; give a new file & exit /b 2
where diskspd >nul 2>nul || (echo diskspd is not on the path & exit /b 1)
set /a FILL=%3*20

rem -Su: past the cache of Windows; -Suw: and through that of the drive; -L: latencies; -Z: other data with each write
set ALL=-W5 -L -Rxml

diskspd -c%2 -b1M -d%FILL% %ALL% -Su -s -w100 -t1 -o32 -Z64M "%TARGET%" > fit-precondition-fill.xml || exit /b 1
diskspd -b8K -d%FILL% %ALL% -Su -r -w100 -t1 -o32 -Z64M "%TARGET%" > fit-precondition-random.xml || exit /b 1

rem random reads by depth
for %%b in (4 8) do for %%q in (1 2 4 8 16 32 64 128) do (
  diskspd -b%%bK -d%3 %ALL% -Su -r -w0 -t1 -o%%q "%TARGET%" > fit-r%%bk-d%%q.xml || exit /b 1
)
rem larger random reads
for %%b in (16K 64K 256K 1M) do for %%q in (1 32) do (
  diskspd -b%%b -d%3 %ALL% -Su -r -w0 -t1 -o%%q "%TARGET%" > fit-r%%b-d%%q.xml || exit /b 1
)
rem sequential reads and writes
diskspd -b1M -d%3 %ALL% -Su -s -w0 -t1 -o8 "%TARGET%" > fit-sr1m-d8.xml || exit /b 1
diskspd -b1M -d%3 %ALL% -Su -s -w100 -t1 -o8 -Z64M "%TARGET%" > fit-sw1m-d8.xml || exit /b 1
rem random writes by depth
for %%q in (1 4 16 64) do (
  diskspd -b8K -d%3 %ALL% -Su -r -w100 -t1 -o%%q -Z64M "%TARGET%" > fit-w8k-d%%q.xml || exit /b 1
)
rem commits: one log, in order, then sixteen writers
for %%b in (4 8) do (
  diskspd -b%%bK -d%3 %ALL% -Suw -s -w100 -t1 -o1 -Z64M "%TARGET%" > fit-sync%%bk-j1.xml || exit /b 1
  diskspd -b%%bK -d%3 %ALL% -Suw -r -w100 -t16 -o1 -Z64M "%TARGET%" > fit-sync%%bk-j16.xml || exit /b 1
)
rem reads among writes
for %%q in (1 8 32 128) do (
  diskspd -b8K -d%3 %ALL% -Su -r -w30 -t1 -o%%q -Z64M "%TARGET%" > fit-mix8k-d%%q.xml || exit /b 1
)
rem reads at a rate
diskspd -b8K -d%3 %ALL% -Su -r -w0 -t1 -o256 -g%4i "%TARGET%" > fit-open8k.xml || exit /b 1
