"""Each bug of planted_bugs.py can still be planted: the code that it replaces appears exactly once.

planted_bugs.py itself hunts them, which takes half an hour.
"""

import sys

from planted_bugs import BUGS, with_bug


def main():
    passed = failed = 0
    for bug in BUGS:
        try:
            with_bug(bug)
            passed += 1
        except ValueError as error:
            print(f"FAILED  {error}")
            failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
