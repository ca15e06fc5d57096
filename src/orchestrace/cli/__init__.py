"""The library said aloud: each command is a thin verb over one public function."""
