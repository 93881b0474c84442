<!DOCTYPE html>
<html><head><title>404 Not Found</title></head></html>
