<!DOCTYPE html>
<html><body>404</body></html>
