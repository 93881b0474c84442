cf.br ^nowhere
